//! HTTP by hand, so that tests can send what no client would, and so that no code of the product
//! stands between them and the wire.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Status line and headers, as they came.
    pub head: String,
    /// What followed.
    pub body: String,
}

impl Answer {
    /// A header's value; names are written as the server writes them.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Sends one request on a connection of its own.
pub fn send(to: SocketAddr, method: &str, path: &str, token: Option<&str>, body: &str) -> io::Result<Answer> {
    let authorization = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
    send_with(to, method, path, &authorization, body)
}

/// The same with more lines in its head, each with its end.
pub fn send_with(to: SocketAddr, method: &str, path: &str, lines: &str, body: &str) -> io::Result<Answer> {
    let mut socket = TcpStream::connect_timeout(&to, Duration::from_secs(5))?;
    socket.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n{lines}content-length: {length}\r\n\r\n"
    );
    socket.write_all(head.as_bytes())?;
    // A server that refuses a long body may close before it has read it.
    let _ = socket.write_all(body.as_bytes());
    let mut answer = Vec::new();
    match socket.read_to_end(&mut answer) {
        Ok(_) => {}
        Err(_) if !answer.is_empty() => {}
        Err(error) => return Err(error),
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Answer { status, head: head.to_owned(), body: body.to_owned() })
}
