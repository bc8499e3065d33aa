//! A hello by hand: one that answers, or one that takes requests and does not.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

/// A hello on a port of its own, for as long as the test process lives.
pub(crate) struct Hello {
    pub(crate) url: String,
    /// The first line of each request.
    pub(crate) requests: Receiver<String>,
    answers: Arc<AtomicBool>,
}

impl Hello {
    /// From now on it answers; those who asked before wait on.
    pub(crate) fn wake_up(&self) {
        self.answers.store(true, Ordering::SeqCst);
    }
}

/// It greets, and every greeting has been read.
pub(crate) fn friendly() -> Hello {
    start(true)
}

/// It takes requests and does not answer.
pub(crate) fn silent() -> Hello {
    start(false)
}

fn answer(mut socket: TcpStream, line: &str) {
    let body = match line {
        _ if line.starts_with("GET /greetings/") => r#"{"greeting":"Hello!"}"#,
        _ if line.starts_with("GET /reports/") => r#"{"override":"greeting.text","read":true}"#,
        _ => "{}",
    };
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}");
    // A caller who died does not read it.
    let _ = write!(socket, "{head}\r\n\r\n{body}");
}

fn start(answers: bool) -> Hello {
    let answers = Arc::new(AtomicBool::new(answers));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let (seen, requests) = channel();
    let is_awake = answers.clone();
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let (seen, is_awake) = (seen.clone(), is_awake.clone());
            thread::spawn(move || serve(socket, &seen, &is_awake));
        }
    });
    Hello { url, requests, answers }
}

fn serve(socket: TcpStream, seen: &Sender<String>, is_awake: &AtomicBool) {
    let Ok(reading) = socket.try_clone() else { return };
    let (mut reader, mut line, mut length) = (BufReader::new(reading), String::new(), 0);
    if reader.read_line(&mut line).is_err() {
        return;
    }
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).is_err() || header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    // The test may have ended.
    let _ = seen.send(line.trim().to_owned());
    if is_awake.load(Ordering::SeqCst) {
        answer(socket, &line);
    } else {
        // Held open for ever: the caller waits until it gives up or is killed.
        std::mem::forget(socket);
    }
}
