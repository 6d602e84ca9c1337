//! What people meet: words, numbers, order, hints that can be typed.

use crate::env;

const SLOPPY: &str = "---\nzzz: 1\ndescription: a: b\nname: Sloppy\nlicense: []\n---\n";

#[test]
fn problems_of_one_file_come_in_reading_order() {
    let env = env();
    env.write(".agents/skills/sloppy/SKILL.md", SLOPPY);
    let ran = env.fugato("skill check").exits(1);
    let lines: Vec<u32> = ran
        .stdout
        .lines()
        .filter_map(|line| line.split_once("SKILL.md:")?.1.split(':').next()?.parse().ok())
        .collect();
    assert_eq!(lines, [2, 3, 4, 5]);
    let listed = env.fugato("skill ls --json").exits(0).json();
    let listed = listed["skills"][0]["diagnostics"].as_array().unwrap();
    assert!(listed.is_sorted_by_key(|found| found["line"].as_u64()), "{listed:?}");
    env.write(
        "p.json",
        r#"{"mode":"loop","skills":{"deny":["typo"]},
"loopAgent":{"skills":{"visible":["a","+"]}},
"zzz":1}"#,
    );
    let places: Vec<_> =
        env.fugato("policy lint p.json --json").exits(1).json()["diagnostics"].as_array().unwrap().clone();
    assert!(places.len() > 2 && places.is_sorted_by_key(|found| found["line"].as_u64()), "{places:?}");
}

#[test]
fn a_tab_is_pointed_at_where_it_stands() {
    let env = env();
    env.write(".agents/skills/tabs/SKILL.md", "---\nname: tabs\n\tdescription: x\n---\n");
    env.fugato("skill check").exits(1).says(&["F0104", "SKILL.md:3:1"]);
}

#[test]
fn one_thing_is_not_called_several() {
    let env = env();
    env.write(".agents/skills/sloppy/SKILL.md", "---\nname: Sloppy\ndescription: d\n---\nText\n");
    env.write("p.json", r#"{"mode":"loop","loopAgent":{"zzz":1}}"#);
    for (line, exit, said) in [
        ("skill ls", 0, "1 skill ·"),
        ("skill check", 1, "1 skill: 0 ok, 1 with problems, 0 invalid · 1 error, 0 warnings"),
        (
            "skill check p.json",
            0,
            "0 skills: 0 ok, 0 with problems, 0 invalid; 1 profile · 0 errors, 1 warning",
        ),
        ("skill search sloppy", 0, "1 hit for `sloppy` in 1 skill\n"),
        ("policy lint p.json", 0, "1 profile: 0 errors, 1 warning\n"),
        ("skill lock", 0, "pinned 1 skill in"),
        ("skill verify", 0, "1 pinned skill is as pinned"),
        ("doctor", 0, "1 skill: 1 with problems"),
        ("skill check --fix", 0, "repaired 1 file\n"),
    ] {
        env.fugato(line).exits(exit).says(&[said]);
    }
}

#[test]
fn a_path_may_follow_fix_and_is_shown_as_one_would_type_it() {
    let env = env();
    env.write("my skills/sloppy/SKILL.md", SLOPPY);
    let ran = env.run(["skill", "check", "my skills"]).exits(1);
    ran.says(&["--> my skills/sloppy/SKILL.md:2:1", "fugato skill check 'my skills' --fix"]);
    let ran = env.run(["skill", "check", "my skills", "--json"]).exits(1).json();
    assert_eq!(ran["diagnostics"][0]["path"], "my skills/sloppy/SKILL.md");
    assert_eq!(ran["skills"][0]["diagnostics"][0]["path"], "my skills/sloppy/SKILL.md");
    env.run(["skill", "check", "--fix", "my skills"]).exits(0).says(&["repaired 1 file"]);
    env.run(["skill", "check", "--fix", "portable"]).exits(0);
    env.run(["skill", "check", "--fix", "portible"]).exits(3);
}

#[test]
fn hints_about_odd_file_names_can_be_pasted_and_obey_nobody() {
    let env = env();
    let odd = "a\nb\u{1b}[31m";
    env.write(format!("{odd}/SKILL.md"), SLOPPY);
    let ran = env.run(["skill", "check", odd]).exits(1);
    ran.says(&[r"fugato skill check $'a\x0ab\x1b[31m' --fix"]);
    assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'));
}

#[test]
fn checking_nothing_teaches() {
    env().fugato("skill check").exits(0).says(&["0 skills", "fugato skill new"]);
}

#[test]
fn a_lock_that_no_longer_fits_says_what_to_type() {
    let env = env();
    env.skill("one", "name: one\ndescription: d");
    env.fugato("skill lock").exits(0);
    env.fugato("skill rm one").exits(0);
    env.fugato("skill verify").exits(1).says(&["1 of 1 pinned skill differ", "fugato skill lock"]);
}

#[test]
fn a_skill_installed_a_moment_ago_does_not_make_the_doctor_worry() {
    let env = env();
    env.write("src/tool/SKILL.md", "---\nname: tool\ndescription: d\n---\n");
    env.write("fugato.toml", "model = \"echo\"\n");
    env.fugato("skill add src/tool").exits(0);
    let findings = env.fugato("doctor --json").exits(0).json()["findings"].as_array().unwrap().clone();
    // Of a browser's own sandbox, which root does not have, it rightly warns.
    let mut others = findings.iter().filter(|finding| finding["name"] != "browser");
    assert!(others.all(|finding| finding["health"] == "ok"), "{findings:?}");
}

#[test]
fn far_to_the_right_the_column_is_still_the_true_one() {
    let env = env();
    let names: Vec<String> = (0..60).map(|n| format!("\"missing-{n:02}\"")).collect();
    env.write(
        "p.json",
        format!(r#"{{"mode":"loop","loopAgent":{{"skills":{{"visible":[{}]}}}}}}"#, names.join(",")),
    );
    let ran = env.fugato("policy lint p.json").exits(0);
    let json = env.fugato("policy lint p.json --json").exits(0).json();
    let column = json["diagnostics"][59]["column"].as_u64().unwrap();
    assert!(column > 700);
    ran.says(&[&format!("--> p.json:1:{column}\n")]);
}

#[test]
fn two_marks_on_one_line_share_a_frame() {
    let env = env();
    env.write("p.json", "{\"mode\":\"loop\",\n \"loopAgent\": {");
    let ran = env.fugato("policy lint p.json").exits(1);
    assert_eq!(ran.stderr.matches("\"loopAgent\": {").count(), 1, "{}", ran.stderr);
}

#[test]
fn twenty_edits_at_once_are_all_made() {
    let env = env();
    env.fugato("profile new loop -o p.jsonc").exits(0);
    let children: Vec<_> = (0..20)
        .map(|n| {
            env.command().args(["policy", "bind", "p.jsonc", "loop", &format!("skill-{n}")]).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let text = env.read("p.jsonc");
    for n in 0..20 {
        assert!(text.contains(&format!("\"skill-{n}\"")), "{text}");
    }
    assert_eq!(std::fs::read_dir(env.project()).unwrap().count(), 1);
}

#[test]
fn an_edit_names_its_file_and_what_is_not_installed() {
    let env = env();
    env.skill("release-notes", "name: release-notes\ndescription: d");
    env.fugato("profile new loop -o p.jsonc").exits(0);
    env.fugato("policy bind p.jsonc loop release-noets").exits(0).says(&[
        "--- a/p.jsonc\n+++ b/p.jsonc\n",
        "not installed",
        "did you mean `release-notes`?",
    ]);
    env.fugato("policy bind p.jsonc loop release-noets --deny").exits(0).says(&["denies nothing"]);
    env.fugato("policy resolve p.jsonc").exits(0).says(&["1 error: fugato policy lint p.jsonc"]);
    env.fugato("policy unbind p.jsonc loop release-noets --deny").exits(0);
    env.fugato("policy unbind p.jsonc loop release-noets").exits(0);
    env.fugato("policy unbind p.jsonc loop release-notes")
        .exits(0)
        .says(&["does not list", "fugato policy bind p.jsonc loop release-notes --deny"]);
    let ran = env.fugato("policy unbind p.jsonc loop zzz").exits(0);
    assert!(!ran.stderr.contains("still sees"), "{}", ran.stderr);
    env.fugato("policy bind p.jsonc loop release-notes").exits(0);
    let again = env.fugato("policy bind p.jsonc loop release-notes --json").exits(0).json();
    assert_eq!((&again["changed"], &again["profile"]), (&false.into(), &"p.jsonc".into()));
}

#[test]
fn asking_about_what_is_not_there_is_answered_with_what_is() {
    let env = env();
    env.skill("release-notes", "name: release-notes\ndescription: d");
    env.fugato("profile new loop -o p.jsonc").exits(0);
    env.fugato("policy resolve p.jsonc --mode director").exits(3).says(&["no mode `director`", "loop"]);
    env.fugato("policy explain p.jsonc --skill release-note")
        .exits(3)
        .says(&["did you mean `release-notes`?"]);
    env.fugato("policy bind p.jsonc loop ghost").exits(0);
    env.fugato("policy explain p.jsonc --skill ghost").exits(0).says(&["not installed"]);
}

#[test]
fn the_summary_counts_the_rows_above_it() {
    let env = env();
    env.skill("a", "name: a\ndescription: d");
    env.skill("b", "name: b\ndescription: d");
    env.write("p.json", r#"{"mode":"loop","skills":{"visible":["a"],"deny":["b"]},"loopAgent":{}}"#);
    let ran = env.fugato("policy explain p.json").exits(0);
    assert_eq!(ran.stdout.matches('✗').count(), 1);
    ran.says(&["1 visible · 1 denied · 0 missing"]);
}

#[test]
fn chinese_has_no_english_in_it_but_names() {
    let env = env().chinese();
    env.skill("one", "name: one\ndescription: d");
    let mut said = String::new();
    for (line, exit) in [
        ("skill add -h", 0),
        ("policy bind -h", 0),
        ("config set -h", 0),
        ("skill lss", 2),
        ("skill ls --jsn", 2),
        ("skill show", 2),
        ("skill", 2),
        ("skill search x --limit -3", 2),
        ("skill add x --all --skill y", 2),
        ("skill new Foo", 2),
        ("skill rename one Two", 2),
        ("skill mv one nowhere", 2),
        ("skill read one ../x", 2),
        ("skill read one --offset 0", 2),
        ("skill search x --path /x", 2),
        ("policy lint nothing.json", 3),
        ("doctor", 0),
    ] {
        let ran = env.fugato(line).exits(exit);
        said.push_str(&ran.stdout);
        said.push_str(&ran.stderr);
    }
    for english in [
        "the ",
        "Usage",
        "Options:",
        "Arguments",
        "Print",
        "error",
        "default:",
        "env:",
        "possible",
        "is not",
        "ok ",
    ] {
        assert!(!said.contains(english), "`{english}` in:\n{said}");
    }
    // Half-width punctuation between Chinese words is a slip.
    let letters: Vec<char> = said.chars().collect();
    for pair in letters.windows(2) {
        let is_slip = ('\u{4e00}'..='\u{9fff}').contains(&pair[0]) && matches!(pair[1], ',' | ';' | '?');
        assert!(!is_slip, "{pair:?} in:\n{said}");
    }
}

#[test]
fn positional_arguments_keep_their_order_in_chinese_help() {
    let env = env().chinese();
    let help = env.fugato("policy bind -h").exits(0).stdout;
    let (profile, agent) = (help.find("  <PROFILE>").unwrap(), help.find("  <AGENT>").unwrap());
    assert!(profile < agent && agent < help.find("  <SKILL>").unwrap(), "{help}");
}

#[test]
fn explanations_are_in_one_language() {
    let english = env().fugato("explain F0109").exits(0).stdout;
    assert!(english.contains("Repair") && !english.contains("中文"), "{english}");
    let chinese = env().chinese().fugato("explain F0109").exits(0).stdout;
    assert!(chinese.contains("小写字母") && chinese.contains("name: pdf-tools"), "{chinese}");
    assert!(!chinese.contains("Repair") && !chinese.contains("## 中文"), "{chinese}");
}

#[test]
fn a_profile_that_is_not_there_is_answered_with_one_that_is() {
    let env = env();
    env.fugato("policy lint profile.jsonc").exits(3).says(&["fugato profile new"]);
    env.fugato("profile new loop").exits(0);
    env.fugato("policy lint profile.json").exits(3).says(&["did you mean `profile.jsonc`?"]);
    env.fugato("skill mv x projct").exits(2).says(&["did you mean `project`?"]);
}

#[test]
fn completion_offers_what_fits() {
    let env = env();
    env.write("a.json", r#"{"mode":"loop","loopAgent":{}}"#);
    env.write("b.json", r#"{"mode":"director","mainAgent":{},"subAgents":[{"id":"critic"}]}"#);
    std::fs::create_dir_all(env.home().join("skills/character/林黛玉")).unwrap();
    let complete = |words: &[&str]| {
        let output = env
            .command()
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
            .env("_CLAP_IFS", "\n")
            .args(["--", "fugato"])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for (words, offered, not_offered) in [
        (&["policy", "explain", "b.json", "--agent", ""][..], "critic", "loop"),
        (&["policy", "bind", "a.json", ""], "loop", "critic"),
        (&["skill", "ls", "--profile", "b.json", "--as", ""], "critic", "loop"),
        (&["policy", "resolve", "a.json", "--mode", ""], "director", "critic"),
        (&["profile", "new", ""], "agenda", "critic"),
        (&["config", "get", "cat"], "catalog.budget_bytes", "skills.extra"),
        (&["skill", "ls", "--character", ""], "林黛玉", "critic"),
        (&["skill", "ls", "--scope", "char"], "character:林黛玉", "global"),
    ] {
        let answer = complete(words);
        assert!(answer.contains(offered) && !answer.contains(not_offered), "{words:?}: {answer}");
    }
}

#[test]
fn every_answer_to_a_program_is_one_document_with_a_schema() {
    let env = env();
    env.skill("one", "name: one\ndescription: d");
    env.write("bad/SKILL.md", "no frontmatter");
    for (line, exit, schema) in [
        ("skill validate .agents/skills/one", 0, "fugato.validate/v1"),
        ("skill validate bad", 1, "fugato.validate/v1"),
        ("skill read-properties .agents/skills/one", 0, "fugato.properties/v1"),
        ("skill read-properties bad", 1, "fugato.error/v1"),
        ("skill to-prompt .agents/skills/one", 0, "fugato.prompt/v1"),
        ("skill show one", 0, "fugato.skill/v1"),
        ("skill read one", 0, "fugato.skill_read/v1"),
        ("profile new loop", 0, "fugato.profile_new/v1"),
        ("profile new loop", 7, "fugato.error/v1"),
        ("config set lang en", 0, "fugato.config_set/v1"),
        ("config get lang", 0, "fugato.setting/v1"),
        ("config get lng", 3, "fugato.error/v1"),
        ("skill show nobody", 3, "fugato.error/v1"),
        ("skill ls -C nowhere", 3, "fugato.error/v1"),
        ("demo", 2, "fugato.error/v1"),
        ("man", 2, "fugato.error/v1"),
    ] {
        let ran = env.fugato(&format!("{line} --json")).exits(exit);
        assert!(ran.stdout.starts_with(&format!("{{\n  \"schema\": \"{schema}\"")), "{line}: {}", ran.stdout);
        ran.json();
    }
    let error = env.fugato("skill show on --json").exits(3).json();
    assert_eq!((&error["exit"], &error["code"]), (&3.into(), &"F0310".into()));
    assert_eq!(error["hints"][0], "did you mean `one`?");
    env.write("broken.json", "{");
    let error = env.fugato("policy resolve broken.json --json").exits(1).json();
    assert_eq!(
        (&error["diagnostics"][0]["code"], &error["diagnostics"][0]["line"]),
        (&"F0201".into(), &1.into())
    );
}

#[test]
fn the_reference_commands_work_in_the_directory_they_are_told() {
    let env = env();
    env.skill("one", "name: one\ndescription: d");
    env.fugato("skill validate one -C .agents/skills").exits(0).says(&["Valid skill: one"]);
    env.fugato("skill read-properties one -C .agents/skills").exits(0).says(&["\"name\": \"one\""]);
    env.fugato("skill to-prompt one -C .agents/skills").exits(0).says(&["one"]);
    let huge = std::fs::File::create(env.write("huge/SKILL.md", "")).unwrap();
    huge.set_len(2 << 30).unwrap();
    env.fugato("skill validate huge").exits(1).says(&["limit"]);
}

#[test]
fn a_name_that_is_taken_is_answered_with_what_can_be_done_here() {
    let env = env();
    env.fugato("skill new one").exits(0).says(&[".agents/skills/one/SKILL.md"]);
    for line in ["skill new one", "skill new one -d other"] {
        let ran = env.fugato(line).exits(7);
        ran.says(&["there already: .agents/skills/one", "--scope"]);
        assert!(!ran.stderr.contains("--on-conflict"), "{}", ran.stderr);
    }
}

#[test]
fn the_tour_shows_what_one_would_type_and_see() {
    let env = env();
    let ran = env.fugato("demo").exits(0);
    ran.says(&["$ fugato skill check skills", "--> skills/broken-skill/SKILL.md:2:7"]);
    // The brief's script answers with the directory it works in; places of problems are relative all the same.
    assert!(!ran.stdout.contains("--> /") && !ran.stderr.contains("check /"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_directory_asked_for_by_hand_must_be_there() {
    let env = env();
    env.write("file", "");
    env.fugato("skill ls --skills nowhere").exits(3).says(&["nowhere", "does not exist"]);
    env.fugato("skill check --skills file").exits(2).says(&["not a directory"]);
    env.fugato("doctor --skills nowhere").exits(3);
}

#[test]
fn a_list_in_which_nothing_fits_says_so() {
    let env = env();
    env.skill("one", "name: one\ndescription: d");
    for line in ["skill ls zzz", "skill ls --problems", "skill ls --scope preset:none"] {
        let ran = env.fugato(line).exits(0);
        assert_eq!(ran.stdout, "", "{line}");
        ran.says(&["no match in 1 skill"]);
    }
}

#[test]
fn a_hint_is_given_once() {
    let env = env();
    let ran = env.run(["skill", "new", "a", "-d", ""]).exits(1);
    assert_eq!(ran.stderr.matches("What it does, and when to use it").count(), 1, "{}", ran.stderr);
}

#[test]
fn what_undoes_a_removal_can_be_pasted() {
    let env = env();
    env.skill("real", "name: real\ndescription: d");
    env.write("elsewhere/linked/SKILL.md", "---\nname: linked\ndescription: d\n---\n");
    let link = env.project().join(".agents/skills/linked");
    std::os::unix::fs::symlink("../../elsewhere/linked", &link).unwrap();
    for name in ["real", "linked"] {
        let removed = env.command().args(["skill", "rm", name]).output().unwrap();
        let said = String::from_utf8(removed.stderr).unwrap();
        let undo = said.lines().find_map(|line| line.strip_prefix("undo: ")).unwrap();
        let undo = undo.replace("fugato ", concat!(env!("CARGO_BIN_EXE_fugato"), " "));
        env.fugato(&format!("skill show {name}")).exits(3);
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", &undo]).current_dir(env.project()).env("FUGATO_HOME", env.home());
        assert!(shell.env("HOME", env.user_home()).output().unwrap().status.success(), "{undo}");
        env.fugato(&format!("skill show {name}")).exits(0);
    }
}

#[test]
fn a_place_that_cannot_be_written_comes_with_advice() {
    let env = env();
    env.write("src/tool/SKILL.md", "---\nname: tool\ndescription: d\n---\n");
    std::fs::remove_dir_all(env.home()).unwrap();
    std::fs::write(env.home(), "in the way").unwrap();
    let ran = env.fugato("skill add src/tool");
    assert!(ran.code == 1 && ran.stderr.contains("FUGATO_HOME"), "{ran:?}");
}
