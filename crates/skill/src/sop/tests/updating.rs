//! What a new plan keeps, runs and drops.

use super::*;
use crate::sop::{Change, NotUpdated};
use std::sync::Arc;

/// What an update means, made in both ways: by the text, and by comparing the programs.
fn update(interpreter: &mut Interpreter, text: &str) -> Change {
    let mut whole = interpreter.clone();
    let expected = whole.update(program(text)).unwrap();
    let change = interpreter.update_to(text).unwrap();
    assert_eq!(change, expected);
    assert_eq!(*interpreter, whole);
    assert_same_places(interpreter.program(), whole.program());
    change
}

fn names(list: &[Arc<str>]) -> Vec<&str> {
    list.iter().map(|name| &**name).collect()
}

#[test]
fn a_changed_declaration_is_run_with_all_that_depends_on_it_and_nothing_else() {
    let mut interpreter = ran("@a emit 1\n@b emit 2\n@c join $a\n@d join $c\n@e join $b\n@gone emit x");
    let change = update(
        &mut interpreter,
        "# Now described.\n@d   join $c\n@c join $a # moved\n@a emit one\n@b emit 2\n@e join $b\n@new assign y",
    );
    assert_eq!(change.kept, 2);
    assert_eq!(names(&change.to_run), ["d", "c", "a", "new"]);
    assert_eq!(names(&change.dropped), ["gone"]);
    assert_eq!(run(&mut interpreter), ["emit one", "join one", "join one"]);
    assert_eq!(value(&interpreter, "e"), "2");
    assert_eq!(interpreter.value("gone"), None);
    assert_eq!(interpreter.program().len(), 6);
}

#[test]
fn failures_cancellations_and_silence_are_values_that_stay() {
    let text = "@f fail r\n@c cancel s\n@n none\n@x join $f\n@y join $c";
    let mut interpreter = ran(text);
    let change = update(&mut interpreter, &format!("{text}\n@z join $n"));
    assert_eq!((change.kept, names(&change.to_run)), (3, vec!["z"]));
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    assert_eq!(value(&interpreter, "x"), "undefined:waiting for f");
    assert_eq!(value(&interpreter, "y"), "canceled:because s via c");
    assert_eq!(value(&interpreter, "z"), "undefined:waiting for n");
}

#[test]
fn what_a_failure_held_up_runs_once_the_failure_is_replaced() {
    let mut interpreter = ran("@a fail r\n@b join $a\n@side emit effect");
    update(&mut interpreter, "@a emit ok\n@b join $a\n@side emit effect");
    assert_eq!(run(&mut interpreter), ["emit ok", "join ok"]);
    assert_eq!(interpreter.failed().count(), 0);
}

#[test]
fn quoting_differently_is_no_change_and_another_reference_is() {
    let mut interpreter = ran("@a emit x\n@b emit x\n@c join $a y");
    update(&mut interpreter, "@a emit 'x'\n@b emit\nx\n@c join $a \"y\"");
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    update(&mut interpreter, "@a emit x\n@b emit x\n@c join $b y");
    assert_eq!(run(&mut interpreter), ["join x y"]);
    update(&mut interpreter, "@a emit x\n@b emit x\n@c join '$b' y");
    assert_eq!(run(&mut interpreter), ["join $b y"]);
}

#[test]
fn a_program_that_runs_is_not_replaced_under_its_commands() {
    let mut interpreter = start("@a emit 1");
    interpreter.ready();
    let busy = interpreter.update(program("@a emit 2")).unwrap_err();
    assert_eq!(names(&busy.names), ["a"]);
    interpreter.finished("a", Outcome::Success("1".into())).unwrap();
    interpreter.update(Program::default()).unwrap();
    assert!(interpreter.is_finished() && interpreter.values().next().is_none());
}

#[test]
fn what_was_never_started_still_is_after_an_update() {
    let budget = Budget { commands: 1, ..Budget::default() };
    let mut interpreter = Interpreter::new(program("@a emit 1\n@b emit 2"), budget);
    assert_eq!(run(&mut interpreter), ["emit 1"]);
    let change = update(&mut interpreter, "@a emit 1\n@b emit 2");
    assert_eq!((change.kept, names(&change.to_run)), (1, vec![]));
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    interpreter.renew(Budget::default());
    assert_eq!(run(&mut interpreter), ["emit 2"]);
}

#[test]
fn only_what_is_other_is_read_and_the_rest_is_moved() {
    let mut interpreter = ran(
        "# One.\n@a emit 1\n@b emit 2\nmore\n\n# Three.\n@c join $a\n@d assign\n--begin-x--\n@e\n--end-x--\n",
    );
    let edit = interpreter.program().edit("# One.\n@a emit 1\n@b emit 2\nmuch\n\nmore\n\n# Three.\n@c join $a\n@d assign\n--begin-x--\n@e\n--end-x--\n").unwrap();
    let read: Vec<&str> = edit.declarations().iter().map(|declaration| &*declaration.name).collect();
    assert_eq!(read, ["b"]);
    update(
        &mut interpreter,
        "# One.\n@a emit 1\n@b emit 2\nmuch\n\nmore\n\n# Three.\n@c join $a\n@d assign\n--begin-x--\n@e\n--end-x--\n",
    );
    // A here-doc that is not closed any more, text above the first declaration, a mark before everything.
    for wrong in
        ["@d assign\n--begin-x--\n@e\n", "text\n@a emit 1\n", "@a emit 1\n@b emit $gone", "@a emit $a"]
    {
        let expected = NotUpdated::Wrong(Program::parse(wrong).unwrap_err());
        assert_eq!(interpreter.update_to(wrong), Err(expected));
    }
    for text in [
        "\u{feff}@a emit 1\n",
        "@a emit 1\n",
        "@b emit 1\n@a emit 1\n",
        "",
        "# nothing\n",
        "@z emit 1\n# end",
    ] {
        update(&mut interpreter, text);
        run(&mut interpreter);
    }
}

#[test]
fn an_edited_program_can_be_taken_up_and_given_on_like_any_other() {
    let mut interpreter = ran("@a emit 1\n@b join $a\n@c join $b");
    update(&mut interpreter, "@new emit 1\n@a emit 1\n@c join $a $new");
    run(&mut interpreter);
    let edited = interpreter.program().clone();
    let mut anew = Interpreter::new(edited.clone(), Budget::default());
    assert_eq!(run(&mut anew), ["emit 1", "emit 1", "join 1 1"]);
    let mut other = ran("@a emit 1\n@c join $a");
    let change = other.update(edited).unwrap();
    assert_eq!(names(&change.to_run), ["new", "c"]);
    assert_eq!(run(&mut other), ["emit 1", "join 1 1"]);
    assert_eq!(anew.program().levels().len(), 2);
}
