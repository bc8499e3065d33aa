//! Just enough of GraphQL to judge a request: one operation, its variables, its fields.
//!
//! Values inside the text are refused: a client that prints names into its queries breaks with the
//! first quotation mark in one of them, so ours must use variables.

/// One request as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// `mutation`, and not `query`.
    pub(super) is_mutation: bool,
    /// Declared variables with their types, as written.
    pub(super) variables: Vec<(String, String)>,
    /// Root fields.
    pub(super) fields: Vec<Field>,
}

/// One field.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// What it is called in the answer.
    pub(super) alias: String,
    /// What it is called in the schema.
    pub(super) name: String,
    /// Arguments and the variables they take.
    pub(super) arguments: Vec<(String, String)>,
    /// What is wanted of it.
    pub(super) selection: Vec<Field>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Mark(char),
}

/// Reads a document, or says what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Document, String> {
    let mut reader = Reader { tokens: tokens(text)?, at: 0 };
    let document = reader.document()?;
    match reader.tokens.get(reader.at) {
        None => Ok(document),
        Some(more) => Err(format!("one operation is enough, but {more:?} follows")),
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let (mut tokens, mut chars) = (Vec::new(), text.chars().peekable());
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' | '\n' | '\r' | ',' => {}
            '{' | '}' | '(' | ')' | '[' | ']' | ':' | '!' | '$' => tokens.push(Token::Mark(char)),
            'a'..='z' | 'A'..='Z' | '_' => {
                let mut word = String::from(char);
                while let Some(next) = chars.next_if(|next| next.is_ascii_alphanumeric() || *next == '_') {
                    word.push(next);
                }
                tokens.push(Token::Word(word));
            }
            other => return Err(format!("unexpected {other:?}: values belong into variables")),
        }
    }
    Ok(tokens)
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn is(&self, mark: char) -> bool {
        self.tokens.get(self.at) == Some(&Token::Mark(mark))
    }

    fn take(&mut self, mark: char) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        if self.take(mark) { Ok(()) } else { Err(format!("expected {mark:?}, found {:?}", self.tokens.get(self.at))) }
    }

    fn word(&mut self) -> Result<String, String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => {
                self.at += 1;
                Ok(word.clone())
            }
            other => Err(format!("expected a name, found {other:?}")),
        }
    }

    fn document(&mut self) -> Result<Document, String> {
        let is_mutation = match self.word()?.as_str() {
            "query" => false,
            "mutation" => true,
            other => return Err(format!("expected query or mutation, found {other}")),
        };
        if !self.is('(') && !self.is('{') {
            self.word()?;
        }
        let mut variables = Vec::new();
        if self.take('(') {
            while !self.take(')') {
                self.expect('$')?;
                let name = self.word()?;
                self.expect(':')?;
                variables.push((name, self.type_name()?));
            }
        }
        Ok(Document { is_mutation, variables, fields: self.selection()? })
    }

    fn type_name(&mut self) -> Result<String, String> {
        let mut text = if self.take('[') {
            let inner = self.type_name()?;
            self.expect(']')?;
            format!("[{inner}]")
        } else {
            self.word()?
        };
        if self.take('!') {
            text.push('!');
        }
        Ok(text)
    }

    fn selection(&mut self) -> Result<Vec<Field>, String> {
        self.expect('{')?;
        let mut fields = Vec::new();
        while !self.take('}') {
            fields.push(self.field()?);
        }
        if fields.is_empty() { Err("a selection selects something".to_owned()) } else { Ok(fields) }
    }

    fn field(&mut self) -> Result<Field, String> {
        let alias = self.word()?;
        let name = if self.take(':') { self.word()? } else { alias.clone() };
        let mut arguments = Vec::new();
        if self.take('(') {
            while !self.take(')') {
                let argument = self.word()?;
                self.expect(':')?;
                self.expect('$')?;
                arguments.push((argument, self.word()?));
            }
        }
        let selection = if self.is('{') { self.selection()? } else { Vec::new() };
        Ok(Field { alias, name, arguments, selection })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_read_with_its_variables_aliases_and_selections() {
        let text =
            "mutation X($id: ID!, $f: [LabelFilter!]) {\n\tresult: runtime(id: $id,) { id status { condition } } }";
        let document = parse(text).expect("a document");
        assert!(document.is_mutation);
        assert_eq!(document.variables[1], ("f".to_owned(), "[LabelFilter!]".to_owned()));
        let field = &document.fields[0];
        assert_eq!((field.alias.as_str(), field.name.as_str()), ("result", "runtime"));
        assert_eq!(field.arguments, [("id".to_owned(), "id".to_owned())]);
        assert_eq!(field.selection[1].selection[0].name, "condition");
    }

    #[test]
    fn values_in_the_text_and_half_documents_are_refused() {
        for bad in [
            "",
            "{ runtime }",
            "query { runtime(id: \"7\") { id } }",
            "query { }",
            "query { a",
            "query { a } query { b }",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
