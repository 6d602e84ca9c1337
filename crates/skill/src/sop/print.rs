//! A program as text that reads as the same program: what is journaled, shown to a planner, and compared.

use super::program::{Argument, Declaration, Program};
use super::token::is_quote;
use std::fmt::{self, Write};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What is given is no part of the text: it is given anew each time.
        for declaration in self.declarations().iter().filter(|declaration| !declaration.is_given()) {
            if let Some(description) = &declaration.description {
                for line in description.split('\n') {
                    writeln!(f, "{}", format_args!("# {line}").to_string().trim_end())?;
                }
            }
            writeln!(f, "{declaration}")?;
        }
        Ok(())
    }
}

/// One line, without the comments above it.
impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{} ", self.name)?;
        text(f, &self.command, Dollar::IsText)?;
        for argument in &self.arguments {
            f.write_char(' ')?;
            match argument {
                Argument::Reference(name) => write!(f, "${name}")?,
                Argument::Literal(literal) => text(f, literal, Dollar::Refers)?,
            }
        }
        Ok(())
    }
}

/// What a bare `$x` means where the text stands.
#[derive(Clone, Copy, PartialEq)]
enum Dollar {
    IsText,
    Refers,
}

/// Bare where that reads as the same text, else in quotes.
fn text(f: &mut fmt::Formatter<'_>, text: &str, dollar: Dollar) -> fmt::Result {
    let needs_quotes = text.is_empty()
        || (dollar == Dollar::Refers && text.starts_with('$'))
        || text.contains(|c: char| c.is_whitespace() || c == '#' || is_quote(c));
    if !needs_quotes {
        return f.write_str(text);
    }
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            '"' | '\\' => write!(f, "\\{c}")?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}
