//! Splits Rust source into its code and its comments, so that a check for a word in one is not
//! misled by the other, nor by a string. Line numbers stay as they are.

/// The same text twice, each with everything else replaced by spaces.
pub(crate) struct Layers {
    /// Without comments and without the contents of strings.
    pub(crate) code: String,
    /// Comments only.
    pub(crate) comments: String,
}

impl Layers {
    pub(crate) fn of(text: &str) -> Self {
        let mut scan =
            Scan { chars: text.chars().collect(), at: 0, out: Self { code: String::new(), comments: String::new() } };
        while scan.at < scan.chars.len() {
            scan.step();
        }
        scan.out
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    Literal,
}

struct Scan {
    chars: Vec<char>,
    at: usize,
    out: Layers,
}

impl Scan {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    /// Moves on by `count` characters of a kind.
    fn take(&mut self, count: usize, kind: Kind) {
        for _ in 0..count {
            let Some(&c) = self.chars.get(self.at) else { return };
            let keep = |wanted: bool| if wanted || c == '\n' { c } else { ' ' };
            self.out.code.push(keep(matches!(kind, Kind::Code)));
            self.out.comments.push(keep(matches!(kind, Kind::Comment)));
            self.at += 1;
        }
    }

    fn take_until(&mut self, kind: Kind, end: impl Fn(&Self) -> bool) {
        while self.at < self.chars.len() && !end(self) {
            self.take(1, kind);
        }
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.take_until(Kind::Comment, |scan| scan.peek(0) == '\n'),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('r', '"' | '#') if !self.follows_a_word() && self.raw_hashes().is_some() => self.raw_string(),
            ('\'', _) => self.char_or_lifetime(),
            _ => self.take(1, Kind::Code),
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        loop {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.take(1, Kind::Comment);
                    if self.at >= self.chars.len() {
                        return;
                    }
                    continue;
                }
            }
            self.take(2, Kind::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.take(1, Kind::Code);
        while self.at < self.chars.len() && self.peek(0) != '"' {
            let count = if self.peek(0) == '\\' { 2 } else { 1 };
            self.take(count, Kind::Literal);
        }
        self.take(1, Kind::Code);
    }

    /// Whether the `r` here ends a longer word; `br"` is the exception and starts a raw string too.
    fn follows_a_word(&self) -> bool {
        let before = |back: usize| self.at.checked_sub(back).and_then(|at| self.chars.get(at)).copied().unwrap_or(' ');
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        is_word(before(1)) && (before(1) != 'b' || is_word(before(2)))
    }

    /// How many `#` open the raw string that starts here; none for a raw name such as `r#type`.
    fn raw_hashes(&self) -> Option<usize> {
        let hashes = (1..).take_while(|ahead| self.peek(*ahead) == '#').count();
        (self.peek(1 + hashes) == '"').then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_hashes().unwrap_or(0);
        self.take(2 + hashes, Kind::Code);
        self.take_until(Kind::Literal, |scan| scan.peek(0) == '"' && (1..=hashes).all(|ahead| scan.peek(ahead) == '#'));
        self.take(1 + hashes, Kind::Code);
    }

    fn char_or_lifetime(&mut self) {
        if self.peek(1) == '\\' {
            self.take(3, Kind::Literal);
            self.take_until(Kind::Literal, |scan| scan.peek(0) == '\'');
            self.take(1, Kind::Literal);
        } else if self.peek(2) == '\'' {
            self.take(3, Kind::Literal);
        } else {
            self.take(1, Kind::Code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Layers::of(text).code
    }

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let layers = Layers::of("let a = \"// no\"; // yes\nb");
        assert_eq!(layers.code, "let a = \"     \";       \nb");
        assert_eq!(layers.comments.trim(), "// yes");
    }

    #[test]
    fn nested_block_comments_end_where_they_should() {
        assert_eq!(code("a /* x /* y */ z */ b").replace(' ', ""), "ab");
        assert_eq!(code("a /* never closed").trim(), "a");
    }

    #[test]
    fn quotes_in_raw_strings_chars_and_escapes_do_not_open_strings() {
        assert_eq!(code(r##"r#"a " b"# c"##).replace(' ', ""), r##"r#""#c"##);
        assert_eq!(code(r#"br"\" c"#).replace(' ', ""), r#"br""c"#);
        assert_eq!(code(r#""a \" b" c"#).replace(' ', ""), r#"""c"#);
        assert_eq!(code(r#"('"', '\'', '\u{1F}') c"#).replace(' ', ""), "(,,)c");
    }

    #[test]
    fn lifetimes_and_raw_names_stay_code() {
        for text in ["fn f<'a>(x: &'a str)", "let r#type = 1;", "for\"\"", "'outer: loop {}"] {
            assert_eq!(code(text), text);
        }
    }
}
