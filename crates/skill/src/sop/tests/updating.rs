//! What a new plan keeps, runs and drops.

use super::*;
use std::sync::Arc;

fn names(list: &[Arc<str>]) -> Vec<&str> {
    list.iter().map(|name| &**name).collect()
}

#[test]
fn a_changed_declaration_is_run_with_all_that_depends_on_it_and_nothing_else() {
    let mut interpreter = ran("@a emit 1\n@b emit 2\n@c join $a\n@d join $c\n@e join $b\n@gone emit x");
    let change = interpreter
        .update(program("# Now described.\n@d   join $c\n@c join $a # moved\n@a emit one\n@b emit 2\n@e join $b\n@new assign y"))
        .unwrap();
    assert_eq!(names(&change.kept), ["b", "e"]);
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
    let change = interpreter.update(program(&format!("{text}\n@z join $n"))).unwrap();
    assert_eq!(names(&change.kept), ["f", "c", "n"]);
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    assert_eq!(value(&interpreter, "x"), "undefined:waiting for f");
    assert_eq!(value(&interpreter, "y"), "canceled:because s via c");
    assert_eq!(value(&interpreter, "z"), "undefined:waiting for n");
}

#[test]
fn what_a_failure_held_up_runs_once_the_failure_is_replaced() {
    let mut interpreter = ran("@a fail r\n@b join $a\n@side emit effect");
    interpreter.update(program("@a emit ok\n@b join $a\n@side emit effect")).unwrap();
    assert_eq!(run(&mut interpreter), ["emit ok", "join ok"]);
    assert_eq!(interpreter.failed().count(), 0);
}

#[test]
fn quoting_differently_is_no_change_and_another_reference_is() {
    let mut interpreter = ran("@a emit x\n@b emit x\n@c join $a y");
    interpreter.update(program("@a emit 'x'\n@b emit\nx\n@c join $a \"y\"")).unwrap();
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    interpreter.update(program("@a emit x\n@b emit x\n@c join $b y")).unwrap();
    assert_eq!(run(&mut interpreter), ["join x y"]);
    interpreter.update(program("@a emit x\n@b emit x\n@c join '$b' y")).unwrap();
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
    let change = interpreter.update(program("@a emit 1\n@b emit 2")).unwrap();
    assert_eq!((names(&change.kept), names(&change.to_run)), (vec!["a"], vec!["b"]));
    assert_eq!(run(&mut interpreter), Vec::<String>::new());
    interpreter.renew(Budget::default());
    assert_eq!(run(&mut interpreter), ["emit 2"]);
}
