//! Variables that a program refers to and does not declare, because whoever runs it gives them: the request, what a
//! preparation found out.

use super::commands::ASSIGN;
use super::error::SopError;
use super::program::{Argument, Declaration, Program};
use crate::place::Place;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// The request, word for word.
pub const INPUT: &str = "input";

/// The text of a variable by its name, if it is given.
pub type Given<'g> = &'g dyn Fn(&str) -> Option<Arc<str>>;

/// The program with what is given declared in its text, so that it means the same for ever.
pub fn with_given(text: &str, given: Given<'_>) -> Result<String, Vec<SopError>> {
    Ok(written_with_given(text, &Program::parse_given(text, given)?))
}

/// The same, of a program that was read from this text.
pub fn written_with_given(text: &str, program: &Program) -> String {
    let mut whole = text.to_owned();
    for declaration in program.declarations().iter().filter(|declaration| declaration.is_given()) {
        // A string never fails to be written to.
        let _ = write!(whole, "\n{declaration}");
    }
    whole
}

/// Declares what is referred to, is not declared, and is given. A declaration of the program wins.
pub(super) fn declare(
    declarations: &mut Vec<Declaration>,
    by_name: &mut HashMap<Arc<str>, usize>,
    broken: &HashSet<&str>,
    given: Given<'_>,
) {
    let mut found = Vec::new();
    for argument in declarations.iter().flat_map(|declaration| &declaration.arguments) {
        let Argument::Reference(name) = argument else { continue };
        if by_name.contains_key(name) || broken.contains(&**name) {
            continue;
        }
        if let Some(text) = given(name) {
            by_name.insert(Arc::clone(name), declarations.len() + found.len());
            found.push(Declaration {
                name: Arc::clone(name),
                command: ASSIGN.into(),
                arguments: vec![Argument::Literal(text)],
                description: None,
                line: 0,
                place: Place::new(0, 0),
                command_place: Place::new(0, 0),
                end: 0,
                number: 0,
                dependencies: Vec::new(),
            });
        }
    }
    declarations.append(&mut found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn give(name: &str) -> Option<Arc<str>> {
        (name == INPUT).then(|| "a \"b\"\n$c # d".into())
    }

    #[test]
    fn the_input_is_a_variable_of_whoever_refers_to_it_and_the_text_then_says_so() {
        let text = "@x emit $input\nrest";
        let program = Program::parse_given(text, &give).unwrap();
        assert!(program.get(INPUT).is_some_and(Declaration::is_given));
        assert_eq!(program.to_string(), "@x emit $input rest\n");
        let whole = with_given(text, &give).unwrap();
        let again = Program::parse(&whole).unwrap();
        assert_eq!(again.get(INPUT).unwrap().arguments, program.get(INPUT).unwrap().arguments);
        assert_eq!(again.get("x").unwrap().arguments, program.get("x").unwrap().arguments);
    }

    #[test]
    fn what_the_program_declares_or_never_uses_is_not_given() {
        for text in ["@input emit own\n@x emit $input", "@x emit input", "@x emit \"$input\""] {
            assert_eq!(with_given(text, &give).unwrap(), text);
        }
        let errors = Program::parse_given("@x emit $other", &give).unwrap_err();
        assert_eq!(errors[0].to_string(), "Variable x depends on undefined variable other");
        // One mistake is one error: the name is declared, only wrongly.
        assert_eq!(Program::parse_given("@input emit \"\n@x emit $input", &give).unwrap_err().len(), 1);
    }
}
