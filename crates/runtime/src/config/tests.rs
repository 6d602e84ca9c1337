//! Behaviour of the layers as a whole.

use super::*;
use std::fs;

struct Place {
    _temp: tempfile::TempDir,
    places: Places,
}

fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let base = temp.path().canonicalize().unwrap();
    let places =
        Places { home: base.join("fugato"), user_home: Some(base.join("home")), cwd: base.join("repo/sub") };
    for dir in ["fugato", "home/.config/fugato", "repo/.git/objects", "repo/sub"] {
        fs::create_dir_all(base.join(dir)).unwrap();
    }
    Place { _temp: temp, places }
}

impl Place {
    fn write(&self, file: &str, text: &str) {
        fs::write(self.places.home.parent().unwrap().join(file), text).unwrap();
    }

    fn load(&self, env: &[(&str, &str)], flags: &[(&str, &str)]) -> (Config, Vec<Diagnostic>) {
        let flags: Vec<_> = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        let env =
            |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        Config::load(&self.places, env, &flags)
    }
}

fn origin(config: &Config, key: &str) -> (Layer, Option<u32>) {
    let origin = &config.get(key).unwrap().origin;
    (origin.layer, origin.line)
}

#[test]
fn each_layer_wins_over_the_one_before() {
    let place = place();
    let budget = |env: &[(&str, &str)], flags: &[(&str, &str)]| {
        let (config, diagnostics) = place.load(env, flags);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        (config.catalog_budget_bytes(), origin(&config, "catalog.budget_bytes"))
    };
    assert_eq!(budget(&[], &[]), (24 * 1024, (Layer::BuiltIn, None)));
    place.write("home/.config/fugato/config.toml", "[catalog]\nbudget_bytes = 1000");
    assert_eq!(budget(&[], &[]), (1000, (Layer::User, Some(2))));
    place.write("fugato/config.toml", "catalog.budget_bytes = 2_000");
    assert_eq!(budget(&[], &[]), (2000, (Layer::User, Some(1))));
    place.write("repo/fugato.toml", "\n\ncatalog = { budget_bytes = 0xBB8 }");
    assert_eq!(budget(&[], &[]), (3000, (Layer::Project, Some(3))));
    place.write("repo/fugato.local.toml", "[catalog]\nbudget_bytes = 4000");
    assert_eq!(budget(&[], &[]), (4000, (Layer::Local, Some(2))));
    let env = [("FUGATO_CATALOG_BUDGET_BYTES", "5000")];
    assert_eq!(budget(&env, &[]), (5000, (Layer::Env, None)));
    assert_eq!(budget(&env, &[("catalog.budget_bytes", "6000")]), (6000, (Layer::Flag, None)));
}

#[test]
fn unknown_keys_warn_with_the_nearest_and_wrong_values_point_at_themselves() {
    let place = place();
    place.write(
        "repo/fugato.toml",
        "lagn = \"zh\"\ncolor = \"pink\"\n[catalog]\nbudget_byte = 3\n[ui]\nambiguous_width = 3\n[skills]\npreset = 7\n[\"中文\"]\nx = 1\n",
    );
    let (config, diagnostics) = place.load(&[], &[]);
    let shown: Vec<_> = diagnostics.iter().map(|d| (d.code, d.one_line(Lang::En))).collect();
    let expect = |code: Code, line: &str| {
        assert!(shown.iter().any(|(c, l)| *c == code && l.contains(line)), "{line} not in {shown:#?}");
    };
    expect(Code::F0402, "fugato.toml:1:1: lagn:");
    expect(Code::F0403, "fugato.toml:2:9: color: found `\"pink\"`, expected one of `auto`");
    expect(Code::F0402, "fugato.toml:4:1: catalog.budget_byte:");
    expect(Code::F0403, "fugato.toml:6:19: ui.ambiguous_width: found `3`");
    expect(Code::F0403, "fugato.toml:8:10: skills.preset: found `7`, expected text");
    expect(Code::F0402, "fugato.toml:9:2: 中文:");
    assert_eq!(shown.len(), 6);
    let hints: Vec<_> = diagnostics.iter().filter_map(|d| d.hint.as_ref()).map(|h| h.en.as_str()).collect();
    assert!(
        hints.contains(&"did you mean `lang`?") && hints.contains(&"did you mean `catalog.budget_bytes`?")
    );
    assert_eq!((config.lang(), config.ambiguous_width()), (None, 1));
}

#[test]
fn a_file_that_does_not_parse_is_ignored_and_the_others_count() {
    let place = place();
    place.write("fugato/config.toml", "lang = \"zh\"");
    place.write("repo/fugato.toml", "lang = \"en\"\n[catalog\n");
    fs::create_dir(place.places.project_root().join("fugato.local.toml")).unwrap();
    let (config, diagnostics) = place.load(&[], &[]);
    assert_eq!(config.lang(), Some(Lang::Zh));
    let codes: Vec<_> = diagnostics.iter().map(|d| (d.code, d.span.map(|s| s.line))).collect();
    assert_eq!(codes, [(Code::F0401, Some(2)), (Code::F0401, None)]);
}

#[test]
fn wrong_variables_and_flags_are_named_and_the_layer_below_holds() {
    let place = place();
    let (config, diagnostics) =
        place.load(&[("FUGATO_LANG", "tlh\u{1b}[31m")], &[("ui.ambiguous_width", "two")]);
    assert_eq!((config.lang(), config.ambiguous_width()), (None, 1));
    let lines: Vec<_> = diagnostics.iter().map(|d| d.one_line(Lang::En)).collect();
    assert_eq!(lines[0], "FUGATO_LANG: lang: found `tlh\\u{1b}[31m`, expected one of `auto`, `en`, `zh`");
    assert!(lines[1].starts_with("--ui.ambiguous_width: ui.ambiguous_width: found `two`"));
}

#[test]
fn directories_are_relative_to_the_file_that_names_them() {
    let place = place();
    place.write(
        "repo/fugato.toml",
        "skills.extra = [\"more\", \"~/mine\", \"/abs\"]\nskills.character = \"林黛玉\"",
    );
    let selection = place.load(&[], &[]).0.selection();
    let base = place.places.home.parent().unwrap();
    assert_eq!(selection.extra, [base.join("repo/more"), base.join("home/mine"), "/abs".into()]);
    assert_eq!(selection.character.as_deref(), Some("林黛玉"));
    let selection = place.load(&[("FUGATO_SKILLS_EXTRA", "x:/y")], &[]).0.selection();
    assert_eq!(selection.extra, [base.join("repo/sub/x"), "/y".into()]);
}

#[test]
fn setting_a_value_keeps_comments_and_order() {
    let place = place();
    let file = user_file(&place.places);
    fs::write(&file, "# mine\nlang = \"en\" # always\n\n[catalog] # sizes\n# small\nbudget_bytes = 1000\n")
        .unwrap();
    set(&file, "lang", "zh").unwrap();
    set(&file, "catalog.budget_bytes", "2000").unwrap();
    set(&file, "skills.extra", "a:b").unwrap();
    set(&file, "color", "never").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("# mine\nlang = \"zh\" # always\n"), "{text}");
    assert!(text.contains("[catalog] # sizes\n# small\nbudget_bytes = 2000\n"), "{text}");
    let (config, diagnostics) = place.load(&[], &[]);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    assert_eq!((config.lang(), config.color()), (Some(Lang::Zh), ColorChoice::Never));
    assert_eq!(config.selection().extra, [place.places.home.join("a"), place.places.home.join("b")]);
    assert!(unset(&file, "lang").unwrap() && !unset(&file, "lang").unwrap());
    assert_eq!(place.load(&[], &[]).0.lang(), None);
}

#[test]
fn setting_refuses_what_it_would_damage() {
    let place = place();
    let file = user_file(&place.places);
    fs::write(&file, "lang = \n").unwrap();
    assert_eq!(set(&file, "lang", "zh").unwrap_err().code, Code::F0401);
    assert_eq!(fs::read_to_string(&file).unwrap(), "lang = \n");
    fs::write(&file, "catalog = 3\n").unwrap();
    assert_eq!(set(&file, "catalog.budget_bytes", "2000").unwrap_err().code, Code::F0403);
    assert_eq!(set(&file, "lagn", "zh").unwrap_err().code, Code::F0402);
    assert_eq!(set(&file, "lang", "tlh").unwrap_err().code, Code::F0403);
    assert_eq!(fs::read_to_string(&file).unwrap(), "catalog = 3\n");
    let under_a_file = file.join("x.toml");
    assert_eq!(set(&under_a_file, "lang", "zh").unwrap_err().code, Code::F0404);
}

/// What came with a clone must not open the machine to agents.
#[test]
fn a_projects_file_cannot_loosen_what_agents_reach() {
    let place = place();
    let loose =
        "web.allow = [\"127.0.0.1:8080\"]\nsearch.url = \"http://x.example\"\nbrowser.program = \"./evil\"\n";
    place.write("repo/fugato.toml", loose);
    place.write("repo/fugato.local.toml", loose);
    let (config, diagnostics) = place.load(&[], &[]);
    assert_eq!(
        diagnostics.iter().filter(|diagnostic| diagnostic.code == Code::F0405).count(),
        6,
        "{diagnostics:?}"
    );
    let settings = config.web_settings(|_| None);
    assert!(settings.allow.is_empty() && settings.browser.is_none());
    assert_eq!(settings.search_report(), crate::tools::SearchReport::Nobody);
    assert!(!config.counts_in("web.allow", Layer::Project) && config.counts_in("web.allow", Layer::User));
    place.write("fugato/config.toml", loose);
    let (config, _) = place.load(&[("FUGATO_BROWSER_PROGRAM", "mine")], &[]);
    let settings = config.web_settings(|_| None);
    assert_eq!((settings.allow.len(), settings.browser), (1, Some("mine".into())));
}

#[test]
fn hosts_are_a_list_of_hosts() {
    let place = place();
    let file = user_file(&place.places);
    set(&file, "web.allow", "127.0.0.1:8080, intranet.example").unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("allow = [\"127.0.0.1:8080\", \"intranet.example\"]"), "{text}");
    assert_eq!(place.load(&[], &[]).0.web_settings(|_| None).allow.len(), 2);
    assert_eq!(set(&file, "web.allow", "http://x/y").unwrap_err().code, Code::F0403);
    fs::write(&file, "web.allow = [\"*\"]\n").unwrap();
    assert_eq!(place.load(&[], &[]).1.first().unwrap().code, Code::F0403);
}

#[test]
fn the_schema_lists_every_setting() {
    let schema = schema();
    for setting in SETTINGS {
        let pointer = format!("/properties/{}", setting.key.replace('.', "/properties/"));
        assert!(schema.pointer(&pointer).is_some(), "{}", setting.key);
    }
    assert_eq!(schema["properties"]["ui"]["properties"]["ambiguous_width"]["maximum"], 2);
}

#[test]
fn a_project_may_forbid_more_and_never_give_more() {
    use crate::sandbox::{Choice, Door};
    use fugato_engine::permission::Mode;
    let place = place();
    place.write(
        "fugato/config.toml",
        "[permissions]\nmode = \"accept-edits\"\nallow = [\"Bash(git status:*)\"]\ndeny = [\"Bash(rm:*)\"]\n[sandbox]\nprocesses = 64\n",
    );
    place.write(
        "repo/fugato.toml",
        "[permissions]\nmode = \"default\"\nallow = [\"Bash\"]\nask = [\"Write\"]\ndeny = [\"Bash(git push:*)\"]\n[sandbox]\nbackend = \"none\"\nnetwork = true\n",
    );
    place.write("repo/fugato.local.toml", "sandbox.writable = [\"/\"]\npermissions.mode = \"ask\"\n");
    let (config, diagnostics) = place.load(&[("FUGATO_PERMISSIONS_DENY", "WebFetch, Write(a,b)")], &[]);
    let ignored: Vec<_> = diagnostics.iter().map(|d| (d.code, d.field.as_deref().unwrap())).collect();
    let mut expected =
        ["permissions.allow", "permissions.mode", "sandbox.backend", "sandbox.network", "sandbox.writable"]
            .map(|key| (Code::F0406, key))
            .to_vec();
    expected.sort_unstable();
    let mut sorted = ignored.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, expected, "{diagnostics:#?}");
    let rules = config.permissions().unwrap();
    let shown =
        |rules: &[fugato_engine::permission::Rule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(shown(&rules.allow), ["Bash(git status:*)"]);
    assert_eq!(shown(&rules.ask), ["Write"]);
    assert_eq!(shown(&rules.deny), ["Bash(rm:*)", "Bash(git push:*)", "WebFetch", "Write(a,b)"]);
    assert_eq!(rules.mode, Mode::Ask, "stricter than the person's own");
    let settings = config.sandbox_settings();
    assert_eq!((settings.backend, settings.network, settings.processes), (Choice::Auto, Door::Closed, 64));
    assert!(settings.writable.is_empty());
    for (key, counts) in
        [("sandbox.backend", false), ("permissions.allow", false), ("permissions.deny", true), ("lang", true)]
    {
        assert_eq!(
            (config.counts_in(key, Layer::Local), config.counts_in(key, Layer::User)),
            (counts, true),
            "{key}"
        );
    }
    let (config, _) =
        place.load(&[("FUGATO_SANDBOX_BACKEND", "none"), ("FUGATO_SANDBOX_NETWORK", "true")], &[]);
    assert_eq!(
        (config.sandbox_settings().backend, config.sandbox_settings().network),
        (Choice::None, Door::Open)
    );
}

#[test]
fn a_rule_that_does_not_read_is_pointed_at_and_no_rules_are_given_out() {
    let place = place();
    place.write("repo/fugato.toml", "[permissions]\ndeny = [\"Bash(rm:*)\", \"Bash(git\", 7]\n");
    let (config, diagnostics) = place.load(&[], &[]);
    let lines: Vec<_> = diagnostics.iter().map(|d| d.one_line(Lang::En)).collect();
    assert!(
        lines[0].contains("fugato.toml:2:32: permissions.deny: no permission rule: `(` without `)`"),
        "{lines:?}"
    );
    assert!(lines[1].contains("fugato.toml:2:35: permissions.deny: found `7`"), "{lines:?}");
    assert_eq!(config.permissions().unwrap_err().len(), 2);
    place.write("repo/fugato.toml", "");
    assert!(place.load(&[], &[]).0.permissions().is_ok());
    for (env, text) in [("FUGATO_PERMISSIONS_MODE", "loose"), ("FUGATO_PERMISSIONS_DENY", "Bash(")] {
        assert!(place.load(&[(env, text)], &[]).0.permissions().is_err(), "{env}");
    }
    place.write("fugato/config.toml", "permissions.deny = [\"Bash\"]\n[catalog\n");
    assert!(place.load(&[], &[]).0.permissions().is_err(), "who knows what it forbade");
}

#[test]
fn setting_a_rule_adds_it() {
    let place = place();
    let file = user_file(&place.places);
    set(&file, "permissions.deny", "Bash(rm:*)").unwrap();
    set(&file, "permissions.deny", "Bash(rm:*), Write(a,b)").unwrap();
    assert_eq!(set(&file, "permissions.deny", "Bash(").unwrap_err().code, Code::F0403);
    let rules = place.load(&[], &[]).0.permissions().unwrap();
    assert_eq!(
        rules.deny.iter().map(fugato_engine::permission::Rule::as_str).collect::<Vec<_>>(),
        ["Bash(rm:*)", "Write(a,b)"]
    );
    set(&file, "sandbox.network", "true").unwrap();
    assert!(fs::read_to_string(&file).unwrap().contains("network = true"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_reading_or_setting_panic(text in "(\\PC|\n|\\[|\\]|=|\"|lang|catalog|skills|\\.){0,60}") {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("config.toml");
        fs::write(&file, &text).unwrap();
        let source = layer::Source { path: &file, shown: "config.toml", user_home: None, is_keyed: None };
        let mut diagnostics = Vec::new();
        layer::read(source, &mut diagnostics);
        let parses = !diagnostics.iter().any(|d| d.code == Code::F0401);
        match set(&file, "catalog.budget_bytes", "4096") {
            Ok(()) => {
                let placed = layer::read(source, &mut Vec::new());
                proptest::prop_assert!(placed.iter().any(|placed| placed.value == Value::Integer(4096)));
            }
            Err(error) => {
                proptest::prop_assert!(!parses || error.code == Code::F0403, "{:?}", error);
                proptest::prop_assert_eq!(fs::read_to_string(&file).unwrap(), text);
            }
        }
    }
}
