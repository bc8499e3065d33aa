//! As much of GraphQL's grammar of tokens as is needed to find an object in a document: what is a
//! string or a comment must not be mistaken for anything else. What is wrong is left to the library,
//! which says so better.

/// A token and where it stands, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    pub(super) start: usize,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.kind != Kind::Block && self.text == text
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name or a number.
    Word,
    /// A quoted text.
    Text,
    /// A text in triple quotes.
    Block,
    /// One character.
    Mark,
}

/// The tokens of a document; stops where a text does not end, and at `max`.
pub(super) fn tokens(source: &str, max: usize) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() && out.len() < max {
        let (kind, end) = match bytes[at] {
            b' ' | b'\t' | b'\n' | b'\r' | b',' => {
                at += 1;
                continue;
            }
            // A byte order mark is ignored wherever it stands.
            0xef if source[at..].starts_with('\u{feff}') => {
                at += '\u{feff}'.len_utf8();
                continue;
            }
            b'#' => {
                at += bytes[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(bytes.len() - at);
                continue;
            }
            b'"' if bytes[at..].starts_with(b"\"\"\"") => match block_end(bytes, at + 3) {
                Some(end) => (Kind::Block, end),
                None => return out,
            },
            b'"' => match text_end(bytes, at + 1) {
                Some(end) => (Kind::Text, end),
                None => return out,
            },
            byte if is_word(byte) => {
                (Kind::Word, at + bytes[at..].iter().position(|byte| !is_word(*byte)).unwrap_or(bytes.len() - at))
            }
            // A character of several bytes is skipped as a whole, so that every cut is between characters.
            _ => (Kind::Mark, at + source[at..].chars().next().map_or(1, char::len_utf8)),
        };
        out.push(Token { kind, text: &source[at..end], start: at });
        at = end;
    }
    out
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.')
}

fn text_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            b'\n' | b'\r' => return None,
            _ => at += 1,
        }
    }
}

fn block_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let rest = bytes.get(at..)?;
        if rest.starts_with(b"\\\"\"\"") {
            at += 4;
        } else if rest.starts_with(b"\"\"\"") {
            return Some(at + 3);
        } else if rest.is_empty() {
            return None;
        } else {
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source, 100).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn strings_and_comments_are_told_from_marks() {
        assert_eq!(texts("{a:\"}\\\"\" # }\n b}"), ["{", "a", ":", "\"}\\\"\"", "b", "}"]);
        assert_eq!(texts("\"\"\"a \\\"\"\" } \"\"\" b"), ["\"\"\"a \\\"\"\" } \"\"\"", "b"]);
        assert_eq!(texts("ä\"unfinished"), ["ä"]);
        assert_eq!(texts("\u{feff}a:\u{feff}\u{feff}b"), ["a", ":", "b"]);
        assert_eq!(texts("\"ends in \\"), Vec::<&str>::new());
    }
}
