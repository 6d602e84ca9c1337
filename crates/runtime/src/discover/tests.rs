//! Behaviour of discovery over real directories.

use super::contents::{MAX_FILE_BYTES, MAX_SKILL_BYTES, MAX_SKILL_FILE_BYTES, MAX_SKILL_FILES};
use super::*;
use fugato_model::{Scope, Severity, view::SkillStatus};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

struct Tree {
    temp: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        Self { temp: tempfile::tempdir().unwrap() }
    }

    /// For trees of thousands of files: in memory where the system has such a place.
    fn large() -> Self {
        let in_memory = tempfile::tempdir_in("/dev/shm");
        Self { temp: in_memory.or_else(|_| tempfile::tempdir()).unwrap() }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.temp.path().join(below)
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn skill(&self, dir: &str) -> &Self {
        let name = dir.rsplit('/').next().unwrap();
        self.write(&format!("{dir}/SKILL.md"), skill_text(name))
    }

    fn root(&self, scope: &str, rank: u32, below: &str) -> Root {
        Root { shown: below.to_owned(), ..Root::new(scope.parse().unwrap(), rank, self.path(below)) }
    }

    fn discover(&self) -> Discovery {
        discover(&[self.root("global", 0, "root")], None)
    }

    /// With the index, at a time when nothing is fresh any more.
    fn settled(&self) -> Discovery {
        self.at(3600)
    }

    fn at(&self, seconds_from_now: u64) -> Discovery {
        let now = SystemTime::now() + Duration::from_secs(seconds_from_now);
        discover_at(&[self.root("global", 0, "root")], Some(&self.path("home/skills.index")), now)
    }
}

fn skill_text(name: &str) -> String {
    format!("---\nname: {name}\ndescription: What {name} does.\n---\n# {name}\n")
}

fn labels(discovery: &Discovery) -> Vec<String> {
    discovery.inventory.all().iter().map(Installed::label).collect()
}

fn the_one(discovery: &Discovery) -> &Installed {
    let [skill] = discovery.inventory.all() else { panic!("{:?}", labels(discovery)) };
    skill
}

fn codes(skill: &Installed) -> Vec<(Code, Severity)> {
    skill.diagnostics.iter().map(|d| (d.code, d.severity)).collect()
}

/// (read, reused, files_read)
fn work(discovery: &Discovery) -> (usize, usize, usize) {
    (discovery.stats.read, discovery.stats.reused, discovery.stats.files_read)
}

#[test]
fn skills_are_found_in_collections_and_not_inside_skills() {
    let tree = Tree::new();
    tree.skill("root/one").skill("root/group/inner/two").write("root/three/oskill.md", "# three\n");
    tree.skill("root/one/_sub/hidden").skill("root/.git/no").skill("root/node_modules/no");
    tree.skill("root/1/2/3/4/5/six").skill("root/1/2/3/4/5/6/seven").write("root/readme.md", "x");
    let discovery = tree.discover();
    let mut dirs: Vec<_> =
        discovery.inventory.all().iter().map(|s| s.dir.strip_prefix(tree.path("root")).unwrap()).collect();
    dirs.sort();
    assert_eq!(dirs, ["1/2/3/4/5/six", "group/inner/two", "one", "three"].map(Path::new));
    assert!(discovery.notes.is_empty(), "{:?}", discovery.notes);
    assert_eq!(discovery.stats.skills, 4);
}

#[test]
fn a_root_that_is_a_skill_counts_as_that_skill_and_a_missing_one_is_empty() {
    let tree = Tree::new();
    tree.skill("root");
    let discovery = tree.discover();
    assert_eq!(the_one(&discovery).dir, tree.path("root"));
    let discovery = discover(&[tree.root("global", 0, "nowhere")], None);
    assert!(discovery.inventory.is_empty() && discovery.notes.is_empty());
    tree.write("file", "x");
    let discovery = discover(&[tree.root("global", 0, "file")], None);
    assert_eq!(discovery.notes.len(), 1, "a root that cannot be listed is said");
}

#[test]
fn the_digest_is_that_of_the_files_and_the_same_for_an_archive() {
    let tree = Tree::new();
    tree.skill("root/one").write("root/one/参考/a.md", "guide").write("root/one/.git/x", "x");
    symlink("参考/a.md", tree.path("root/one/z.md")).unwrap();
    symlink("/etc/passwd", tree.path("root/one/out")).unwrap();
    let discovery = tree.discover();
    let skill = the_one(&discovery);
    let path = |text: &str| fugato_model::RelPath::parse(text).unwrap();
    let (a, b, c) = (path("SKILL.md"), path("参考/a.md"), path("z.md"));
    let text = skill_text("one");
    let files = [(&c, b"guide".as_slice()), (&a, text.as_bytes()), (&b, b"guide".as_slice())];
    assert_eq!(skill.digest, Some(fugato_skill::digest_files(files)));
    let (digest, entries) = skill_digest(&tree.path("root/one")).unwrap();
    assert_eq!(Some(digest), skill.digest);
    assert_eq!(
        entries.iter().map(|e| (e.path.as_str(), e.len)).collect::<Vec<_>>(),
        [("SKILL.md", text.len() as u64), ("z.md", 5), ("参考/a.md", 5)]
    );
    assert_eq!(codes(skill).last(), Some(&(Code::F0126, Severity::Warning)));
}

#[test]
fn sk19_two_skill_files_are_ambiguous_and_both_are_named() {
    let tree = Tree::new();
    tree.skill("root/two").write("root/two/skill.md", skill_text("two")).skill("root/good");
    let discovery = tree.discover();
    let skill = discovery.inventory.all().iter().find(|s| s.dir.ends_with("two")).unwrap();
    assert_eq!(skill.status(), SkillStatus::Invalid);
    let said = skill.diagnostics.iter().find(|d| d.code == Code::F0120).unwrap();
    assert_eq!(said.path, "root/two");
    assert!(said.message.en.contains("`SKILL.md`") && said.message.en.contains("`skill.md`"));
    assert_eq!(discovery.inventory.len(), 2);
}

#[test]
fn sk20_a_skill_file_that_is_no_file_is_invalid_and_never_blocks() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let tree = Tree::new();
    for dir in ["dir/SKILL.md", "fifo", "link-fifo", "socket", "side"] {
        fs::create_dir_all(tree.path("root").join(dir)).unwrap();
    }
    tree.write("root/dir/SKILL.md/inner.md", "x");
    mknodat(CWD, tree.path("root/fifo/SKILL.md"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    mknodat(CWD, tree.path("root/link-fifo/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    symlink("pipe", tree.path("root/link-fifo/SKILL.md")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tree.path("root/socket/SKILL.md")).unwrap();
    tree.skill("root/side");
    mknodat(CWD, tree.path("root/side/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(tree.discover()).unwrap());
        let discovery = receiver.recv_timeout(Duration::from_secs(20)).expect("discovery blocked");
        assert_eq!(discovery.inventory.len(), 5);
        for skill in discovery.inventory.all() {
            let severity = if skill.dir.ends_with("side") { Severity::Warning } else { Severity::Error };
            assert!(codes(skill).contains(&(Code::F0121, severity)), "{skill:?}");
            assert_eq!(skill.usable, skill.dir.ends_with("side"), "{skill:?}");
        }
    });
}

#[test]
fn sk20_an_unreadable_skill_file_is_invalid() {
    let tree = Tree::new();
    tree.skill("root/locked").skill("root/good");
    let file = tree.path("root/locked/SKILL.md");
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    // The superuser reads everything: a link to itself is unreadable for anybody.
    if fs::read(&file).is_ok() {
        fs::remove_file(&file).unwrap();
        symlink("SKILL.md", &file).unwrap();
    }
    let discovery = tree.discover();
    let skill = discovery.inventory.all().iter().find(|s| s.dir.ends_with("locked")).unwrap();
    assert!(!skill.usable && skill.diagnostics.iter().any(Diagnostic::is_error), "{skill:?}");
    assert_eq!(discovery.inventory.len(), 2);
}

#[test]
fn sk21_loops_are_skipped_with_a_warning() {
    let tree = Tree::new();
    tree.skill("root/good").skill("root/group/inner");
    symlink(".", tree.path("root/self")).unwrap();
    symlink("..", tree.path("root/up")).unwrap();
    symlink("ring", tree.path("root/ring")).unwrap();
    symlink("..", tree.path("root/group/back")).unwrap();
    symlink("nothing", tree.path("root/dangling")).unwrap();
    symlink("..", tree.path("root/good/around")).unwrap();
    symlink(".", tree.path("root/good/own")).unwrap();
    let discovery = tree.discover();
    assert_eq!(discovery.inventory.len(), 2);
    let noted: Vec<_> = discovery.notes.iter().map(|n| (n.code, n.severity, n.path.as_str())).collect();
    let link = |path| (Code::F0126, Severity::Warning, path);
    assert_eq!(
        noted,
        [
            link("root/dangling"),
            link("root/group/back"),
            link("root/ring"),
            link("root/self"),
            link("root/up")
        ]
    );
    let good = discovery.inventory.all().iter().find(|s| s.dir.ends_with("good")).unwrap();
    assert_eq!(good.diagnostics.iter().filter(|d| d.code == Code::F0126).count(), 2);
    assert!(good.digest.is_some());
}

#[test]
fn sk21_a_skill_file_that_links_outside_is_refused() {
    let tree = Tree::new();
    tree.write("secret.md", skill_text("stolen"));
    fs::create_dir_all(tree.path("root/stolen")).unwrap();
    symlink("../../secret.md", tree.path("root/stolen/SKILL.md")).unwrap();
    let discovery = tree.discover();
    let skill = the_one(&discovery);
    assert!(codes(skill).contains(&(Code::F0126, Severity::Error)) && !skill.usable);
    assert_eq!(skill.head.description, "");
}

#[test]
fn sk22_sizes_have_limits() {
    let tree = Tree::new();
    tree.write("root/huge/SKILL.md", "").skill("root/side").skill("root/heavy").skill("root/many");
    let grow = |path: &str, size| {
        let file = fs::OpenOptions::new().append(true).create(true).open(tree.path(path)).unwrap();
        file.set_len(size).unwrap();
    };
    grow("root/huge/SKILL.md", 2 << 30);
    grow("root/side/big.bin", MAX_FILE_BYTES + 1);
    grow("root/heavy/1.bin", MAX_SKILL_BYTES);
    for n in 0..MAX_SKILL_FILES {
        tree.write(&format!("root/many/{n}.md"), "x");
    }
    let discovery = tree.discover();
    let of = |dir: &str| discovery.inventory.all().iter().find(|s| s.dir.ends_with(dir)).unwrap();
    assert!(codes(of("huge")).contains(&(Code::F0122, Severity::Error)) && !of("huge").usable);
    assert!(of("huge").digest.is_none());
    assert!(codes(of("side")).contains(&(Code::F0122, Severity::Warning)) && of("side").digest.is_some());
    for dir in ["heavy", "many"] {
        assert!(codes(of(dir)).contains(&(Code::F0122, Severity::Warning)), "{dir}");
        assert!(of(dir).digest.is_none(), "{dir}");
    }
    assert!(skill_digest(&tree.path("root/heavy")).is_err());
    let just_right = Tree::new();
    just_right.write("root/x/SKILL.md", vec![b'x'; usize::try_from(MAX_SKILL_FILE_BYTES).unwrap()]);
    assert!(!codes(the_one(&just_right.discover())).iter().any(|(code, _)| *code == Code::F0122));
}

#[test]
fn a_file_of_phases_that_is_missing_is_said_until_it_is_there() {
    let tree = Tree::new();
    let text = "---\nname: one\ndescription: x\nmetadata:\n  fugato-phases: phases.yaml\n---\n";
    tree.write("root/one/SKILL.md", text);
    assert!(codes(the_one(&tree.settled())).contains(&(Code::F0125, Severity::Error)));
    tree.write("root/one/phases.yaml", "[]");
    let discovery = tree.settled();
    assert!(!codes(the_one(&discovery)).iter().any(|(code, _)| *code == Code::F0125));
    assert_eq!(discovery.stats.files_read, 1, "the skill file is not read again");
}

#[test]
fn names_no_path_can_carry_are_left_out_and_said() {
    let tree = Tree::new();
    tree.skill("root/one").write("root/one/a\\b.md", "x");
    fs::write(tree.path("root/one").join(std::ffi::OsStr::from_bytes(b"caf\xe9.md")), "x").unwrap();
    let discovery = tree.discover();
    let skill = the_one(&discovery);
    assert_eq!(codes(skill).iter().filter(|(code, _)| *code == Code::F0121).count(), 2);
    let text = skill_text("one");
    let name = fugato_model::RelPath::parse("SKILL.md").unwrap();
    assert_eq!(skill.digest, Some(fugato_skill::digest_files([(&name, text.as_bytes())])));
}

#[test]
fn linked_skills_are_found_once_per_scope() {
    let tree = Tree::new();
    tree.skill("root/one").skill("far/two").skill("collection/three").skill("collection/group/four");
    fs::create_dir_all(tree.path("claude")).unwrap();
    symlink("../far/two", tree.path("root/two")).unwrap();
    symlink("../collection", tree.path("root/collection")).unwrap();
    symlink("../root/one", tree.path("claude/one")).unwrap();
    symlink("one", tree.path("root/again")).unwrap();
    let discovery = discover(&[tree.root("global", 0, "claude"), tree.root("global", 1, "root")], None);
    let mut dirs: Vec<_> = discovery.inventory.all().iter().map(|s| s.dir.clone()).collect();
    dirs.sort();
    assert_eq!(
        dirs,
        ["root/collection/group/four", "root/collection/three", "root/one", "root/two"].map(|d| tree.path(d))
    );
    let discovery = discover(&[tree.root("global", 0, "root"), tree.root("project", 1, "claude")], None);
    assert_eq!(discovery.inventory.len(), 5, "another scope is another skill");
}

#[test]
fn later_scopes_shadow_through_real_directories() {
    let tree = Tree::new();
    tree.skill("g/voice")
        .skill("g/only")
        .skill("p/voice")
        .skill("preset/中文导演/voice")
        .skill("character/林黛玉/voice");
    let roots = [
        tree.root("global", 0, "g"),
        tree.root("project", 1, "p"),
        tree.root("preset:中文导演", 2, "preset/中文导演"),
        tree.root("character:林黛玉", 3, "character/林黛玉"),
    ];
    let discovery = discover(&roots, None);
    assert_eq!(discovery.inventory.get("voice").unwrap().scope, Scope::character("林黛玉").unwrap());
    assert_eq!(discovery.inventory.names().collect::<Vec<_>>(), ["only", "voice"]);
    assert_eq!(discovery.inventory.all().iter().filter(|s| discovery.inventory.is_shadowed(s)).count(), 3);
}

#[test]
fn unchanged_skills_are_not_read_again() {
    let tree = Tree::new();
    tree.skill("root/one").skill("root/group/two").write("root/one/a/b.md", "side");
    let first = tree.settled();
    assert_eq!((work(&first), &first.stats.index), ((2, 0, 3), &IndexUse::Written));
    let second = tree.settled();
    assert_eq!((work(&second), &second.stats.index), ((0, 2, 0), &IndexUse::Fresh));
    assert_eq!(second.stats.dirs_listed, 0);
    assert_eq!(first.inventory.all(), second.inventory.all());
}

#[test]
fn only_what_changed_is_read_again() {
    let tree = Tree::new();
    tree.skill("root/one").skill("root/two").write("root/one/side.md", "side");
    let before = tree.settled();
    tree.write("root/one/side.md", "tide");
    let changed = tree.settled();
    assert_eq!(work(&changed), (1, 1, 1), "the side file, not the skill file");
    assert_eq!(changed.inventory.all(), discover(&[tree.root("global", 0, "root")], None).inventory.all());
    assert_ne!(changed.inventory.all(), before.inventory.all());
    tree.skill("root/new");
    assert_eq!(work(&tree.settled()), (1, 2, 1));
    fs::rename(tree.path("root/two"), tree.path("root/renamed")).unwrap();
    assert_eq!(work(&tree.settled()), (1, 2, 1));
    fs::remove_dir_all(tree.path("root/new")).unwrap();
    let removed = tree.settled();
    assert_eq!((work(&removed), &removed.stats.index), ((0, 2, 0), &IndexUse::Written));
    assert_eq!(tree.settled().stats.index, IndexUse::Fresh);
    tree.write("root/one/new.md", "new");
    assert_eq!(work(&tree.settled()), (1, 1, 1));
}

#[test]
fn a_second_skill_file_that_stays_alone_is_read() {
    let tree = Tree::new();
    tree.skill("root/two").write("root/two/skill.md", skill_text("two"));
    assert!(!the_one(&tree.settled()).usable);
    fs::remove_file(tree.path("root/two/SKILL.md")).unwrap();
    let discovery = tree.settled();
    let fresh = tree.discover();
    assert_eq!((the_one(&discovery), the_one(&discovery).file.as_str()), (the_one(&fresh), "skill.md"));
}

#[test]
fn a_skill_that_gets_within_its_limits_is_noticed() {
    let tree = Tree::new();
    tree.write("root/one/SKILL.md", vec![b'x'; 600 * 1024]);
    assert!(!the_one(&tree.settled()).usable);
    assert!(!the_one(&tree.settled()).usable);
    // In place: the directory does not change.
    fs::write(tree.path("root/one/SKILL.md"), skill_text("one")).unwrap();
    let discovery = tree.settled();
    assert!(the_one(&discovery).usable && the_one(&discovery).diagnostics.is_empty());
    assert_eq!(work(&tree.settled()), (0, 1, 0));
}

#[test]
fn a_directory_full_of_oddities_is_a_short_list() {
    let tree = Tree::large();
    tree.skill("root/one");
    for n in 0..3_000 {
        symlink("/nowhere", tree.path(&format!("root/one/link-{n}"))).unwrap();
        tree.write(&format!("root/one/file-{n}"), "x");
    }
    let discovery = tree.discover();
    let skill = the_one(&discovery);
    assert!(
        skill.usable && skill.digest.is_none() && skill.diagnostics.len() < 70,
        "{}",
        skill.diagnostics.len()
    );
    assert!(codes(skill).contains(&(Code::F0122, Severity::Warning)));
}

#[test]
fn fresh_files_are_read_again_until_they_have_settled() {
    let tree = Tree::new();
    tree.skill("root/one");
    assert_eq!(work(&tree.at(0)), (1, 0, 1));
    let again = tree.at(0);
    assert_eq!(work(&again), (1, 0, 1), "written within two seconds before the scan");
    assert_eq!(again.stats.index, IndexUse::Written);
    assert_eq!(work(&tree.at(60)), (1, 0, 1), "the index still says fresh");
    assert_eq!(work(&tree.at(60)), (0, 1, 0));
}

#[test]
fn a_damaged_or_foreign_index_is_ignored_and_replaced() {
    let tree = Tree::new();
    tree.skill("root/one");
    let good = tree.settled();
    let index = tree.path("home/skills.index");
    let bytes = fs::read(&index).unwrap();
    for damaged in [
        b"".to_vec(),
        b"nonsense".to_vec(),
        bytes[..bytes.len() / 2].to_vec(),
        [bytes.as_slice(), b"x"].concat(),
    ] {
        fs::write(&index, damaged).unwrap();
        let rebuilt = tree.settled();
        assert_eq!((work(&rebuilt), &rebuilt.stats.index), ((1, 0, 1), &IndexUse::Written));
        assert_eq!(rebuilt.inventory.all(), good.inventory.all());
        assert_eq!(work(&tree.settled()), (0, 1, 0));
    }
}

#[test]
fn an_index_that_cannot_be_written_costs_only_time() {
    let tree = Tree::new();
    tree.skill("root/one").write("home", "a file where the directory should be");
    let discovery = tree.settled();
    assert_eq!(discovery.inventory.len(), 1);
    assert!(matches!(discovery.stats.index, IndexUse::NotWritten(_)));
    assert!(discovery.notes.is_empty());
}

#[test]
fn roots_of_other_projects_stay_in_the_index() {
    let tree = Tree::new();
    tree.skill("a/one").skill("b/two");
    let index = tree.path("home/skills.index");
    let now = SystemTime::now() + Duration::from_secs(3600);
    let run = |below: &str| discover_at(&[tree.root("global", 0, below)], Some(&index), now);
    assert_eq!(work(&run("a")), (1, 0, 1));
    assert_eq!(work(&run("b")), (1, 0, 1));
    assert_eq!((work(&run("a")), work(&run("b"))), ((0, 1, 0), (0, 1, 0)));
}

#[test]
fn remembered_diagnostics_are_shown_from_where_one_is_now() {
    let tree = Tree::new();
    tree.write("root/bad/SKILL.md", "no frontmatter").skill("root/bad");
    tree.write("root/bad/skill.md", "");
    let index = tree.path("home/skills.index");
    let now = SystemTime::now() + Duration::from_secs(3600);
    let mut root = tree.root("global", 0, "root");
    discover_at(std::slice::from_ref(&root), Some(&index), now);
    root.shown = "~/elsewhere".to_owned();
    let warm = discover_at(std::slice::from_ref(&root), Some(&index), now);
    assert_eq!(warm.stats.reused, 1);
    assert!(the_one(&warm).diagnostics.iter().all(|d| d.path.starts_with("~/elsewhere/bad")));
}

/// The index is written from one place, carried over at another, and read at a third.
#[test]
fn diagnostics_carried_from_index_to_index_are_shown_from_where_one_is_now() {
    let tree = Tree::new();
    tree.write("root/bad/SKILL.md", "no frontmatter").skill("root/good");
    let index = tree.path("home/skills.index");
    let look = |shown: &str, hours: u64| {
        let root = Root { shown: shown.to_owned(), ..tree.root("global", 0, "root") };
        let now = SystemTime::now() + Duration::from_secs(3600 * hours);
        let found = discover_at(&[root], Some(&index), now);
        let bad = found.inventory.all().iter().find(|skill| skill.label() == "bad").unwrap();
        (bad.diagnostics[0].path.clone(), found.stats.reused)
    };
    assert_eq!(look("one", 1), ("one/bad/SKILL.md".into(), 0));
    // Something else changed, so the index is written anew with the old entry in it.
    tree.write("root/good/more.md", "more");
    assert_eq!(look("two", 2), ("two/bad/SKILL.md".into(), 1));
    assert_eq!(look("three", 3), ("three/bad/SKILL.md".into(), 2));
    assert_eq!(look("two", 4), ("two/bad/SKILL.md".into(), 2));
}

#[test]
fn concurrent_discoveries_never_damage_the_index() {
    let tree = Tree::new();
    for n in 0..40 {
        tree.skill(&format!("root/skill-{n}"));
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    // Fresh files make every one of them write.
                    assert_eq!(tree.at(0).inventory.len(), 40);
                }
            });
        }
    });
    tree.settled();
    assert_eq!(work(&tree.settled()), (0, 40, 0));
    assert_eq!(fs::read_dir(tree.path("home")).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn ten_thousand_skills_with_hundreds_broken_are_all_listed() {
    let tree = Tree::large();
    for n in 0..10_000 {
        let dir = format!("root/skill-{n:05}");
        match n % 50 {
            7 => tree.write(&format!("{dir}/SKILL.md"), [0xff, 0xfe, 0, 0]),
            8 => tree.write(&format!("{dir}/SKILL.md/x"), "a directory"),
            9 => tree.skill(&dir).write(&format!("{dir}/skill.md"), "two"),
            _ => tree.skill(&dir),
        };
    }
    let cold = tree.settled();
    assert_eq!(cold.inventory.len(), 10_000);
    let broken =
        cold.inventory.all().iter().filter(|s| s.diagnostics.iter().any(Diagnostic::is_error)).count();
    assert_eq!(broken, 600);
    assert_eq!(cold.inventory.listed_len(), 9_400);
    let warm = tree.settled();
    assert_eq!(warm.stats.reused, 10_000);
    assert_eq!(warm.inventory.all(), cold.inventory.all());
}

#[test]
fn paths_name_a_file_a_skill_or_a_tree() {
    let tree = Tree::new();
    tree.skill("root/one").skill("root/group/two").write("root/other.md", "x");
    let found = |below: &str| discover_paths(&[tree.path(below)]);
    assert_eq!(the_one(&found("root/one/SKILL.md")).dir, tree.path("root/one"));
    assert_eq!(the_one(&found("root/one")).dir, tree.path("root/one"));
    assert_eq!(found("root").inventory.len(), 2);
    assert_eq!(discover_paths(&[tree.path("root/one"), tree.path("root/one/SKILL.md")]).inventory.len(), 1);
    for wrong in ["root/other.md", "root/missing"] {
        let discovery = found(wrong);
        assert!(discovery.inventory.is_empty() && discovery.notes[0].is_error(), "{wrong}");
    }
}
