//! Changes to installed skills: each whole or not at all, at every step where the world can end.

use super::disk::Disk;
use super::*;
use crate::{Places, skill_digest};
use fugato_model::{Code, Exit, RelPath, Scope, SkillName};
use fugato_skill::archive::{Bundle, BundledFile, BundledSkill, Select, write_zip};
use fugato_skill::lock::DriftKind;
use fugato_skill::{Installed, Inventory, SkillText, digest_bytes, read_skill};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

struct World {
    _temp: tempfile::TempDir,
    places: Places,
}

fn world() -> World {
    let temp = tempfile::tempdir().unwrap();
    let base = temp.path().canonicalize().unwrap();
    let places =
        Places { home: base.join("home"), user_home: Some(base.join("user")), cwd: base.join("project") };
    fs::create_dir_all(places.cwd.join(".git/refs")).unwrap();
    World { _temp: temp, places }
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

fn text(name: &str, body: &str) -> String {
    format!("---\nname: {name}\ndescription: A skill.\n---\n{body}\n")
}

fn skill(name: &str, body: &str) -> BundledSkill {
    let file = |bytes: &str, executable| BundledFile { bytes: bytes.into(), executable };
    BundledSkill {
        dir_name: name.into(),
        files: BTreeMap::from([
            (rel("SKILL.md"), file(&text(name, body), false)),
            (rel("references/guide.md"), file(body, false)),
            (rel("scripts/run.sh"), file("#!/bin/sh\n", true)),
        ]),
    }
}

impl World {
    fn root(&self) -> PathBuf {
        self.places.scope_dir(&Scope::Global)
    }

    fn install(&self, skill: &BundledSkill, on_conflict: OnConflict) -> Result<Outcome, ManageError> {
        install(&self.places, &Scope::Global, &[skill], on_conflict).map(|mut outcomes| outcomes.remove(0))
    }

    fn installed(&self, name: &str) -> Installed {
        found(&self.root().join(name), Scope::Global)
    }

    /// Name → digest of everything a reader would see.
    fn visible(&self) -> BTreeMap<String, fugato_model::Digest> {
        visible(&self.root())
    }

    fn leftovers(&self) -> usize {
        let stages = |dir: PathBuf| {
            fs::read_dir(dir).map_or(0, |entries| {
                entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).count()
            })
        };
        stages(self.root()) + stages(self.places.home.join("trash"))
    }

    fn trashed(&self) -> BTreeSet<fugato_model::Digest> {
        visible(&self.places.home.join("trash")).into_values().collect()
    }
}

fn visible(root: &Path) -> BTreeMap<String, fugato_model::Digest> {
    let Ok(entries) = fs::read_dir(root) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, _)| !name.starts_with('.'))
        .map(|(name, path)| (name, skill_digest(&path).unwrap().0))
        .collect()
}

fn found(dir: &Path, scope: Scope) -> Installed {
    let bytes = fs::read(dir.join("SKILL.md")).unwrap();
    let dir_name = dir.file_name().unwrap().to_string_lossy().into_owned();
    let reading = read_skill(SkillText { dir_name: &dir_name, path: "SKILL.md", bytes: &bytes });
    Installed {
        head: reading.head,
        scope,
        rank: 0,
        dir: dir.to_owned(),
        file: "SKILL.md".into(),
        digest: skill_digest(dir).ok().map(|(digest, _)| digest),
        diagnostics: reading.diagnostics,
        usable: reading.usable,
    }
}

// ---- install -------------------------------------------------------------------------------------------------------

#[test]
fn a_skill_is_installed_with_its_modes_and_digest() {
    let world = world();
    let voice = skill("voice", "one");
    let outcome = world.install(&voice, OnConflict::Fail).unwrap();
    assert_eq!((outcome.done, outcome.digest), (Done::Installed, voice.digest()));
    assert_eq!(world.visible(), BTreeMap::from([("voice".into(), voice.digest())]));
    let mode = |path: &str| fs::metadata(outcome.dir.join(path)).unwrap().permissions().mode() & 0o111;
    assert!(mode("scripts/run.sh") != 0 && mode("SKILL.md") == 0);
    assert_eq!(world.leftovers(), 0);
}

#[test]
fn conflicts_preview_and_resolve_as_asked() {
    let world = world();
    let (one, two) = (skill("voice", "one"), skill("voice", "two"));
    let state = |skill: &BundledSkill| preview(&[skill], &world.root()).unwrap().remove(0).state;
    assert_eq!(state(&one), State::New);
    world.install(&one, OnConflict::Fail).unwrap();
    assert_eq!(state(&one), State::Same);
    let State::Different { changed } = state(&two) else { panic!("must differ") };
    let changed: Vec<_> = changed.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(changed, ["SKILL.md", "references/guide.md"]);

    assert_eq!(world.install(&one, OnConflict::Fail).unwrap().done, Done::Same);
    let error = world.install(&two, OnConflict::Fail).unwrap_err();
    assert_eq!((error.code(), error.exit()), (Code::F0307, Exit::Conflict));
    assert_eq!(world.install(&two, OnConflict::Skip).unwrap().done, Done::Skipped);
    assert_eq!(world.visible()["voice"], one.digest());
    let Done::Replaced { backup } = world.install(&two, OnConflict::Replace).unwrap().done else {
        panic!("not replaced")
    };
    assert_eq!(world.visible()["voice"], two.digest());
    assert_eq!(skill_digest(&backup).unwrap().0, one.digest());
    assert!(backup.starts_with(world.places.home.join("trash")));
    assert_eq!(world.leftovers(), 0);
}

#[test]
fn several_skills_are_installed_together_or_not_at_all() {
    let world = world();
    world.install(&skill("b", "old"), OnConflict::Fail).unwrap();
    let (a, b) = (skill("a", "new"), skill("b", "new"));
    assert!(install(&world.places, &Scope::Global, &[&a, &b], OnConflict::Fail).is_err());
    assert_eq!(world.visible().keys().collect::<Vec<_>>(), ["b"]);
    assert_eq!(install(&world.places, &Scope::Global, &[&a, &b], OnConflict::Replace).unwrap().len(), 2);
    let error = install(&world.places, &Scope::Global, &[&a, &a], OnConflict::Replace).unwrap_err();
    assert_eq!(error.code(), Code::F0304);
}

#[test]
fn a_skill_is_installed_under_the_name_it_declares() {
    let world = world();
    let other = BundledSkill { dir_name: "voice-main".into(), ..skill("voice", "one") };
    assert_eq!(world.install(&other, OnConflict::Fail).unwrap().name.as_str(), "voice");
    assert!(world.root().join("voice").is_dir());
}

#[test]
fn an_unusable_skill_is_refused_before_anything_is_written() {
    let world = world();
    let mut broken = skill("voice", "one");
    broken.files.get_mut(&rel("SKILL.md")).unwrap().bytes = b"no frontmatter".to_vec();
    let error = world.install(&broken, OnConflict::Replace).unwrap_err();
    assert_eq!((error.code(), error.exit()), (Code::F0101, Exit::Failed));
    assert!(!world.root().exists());
}

#[test]
fn a_link_in_the_way_is_replaced_not_followed() {
    let world = world();
    let elsewhere = world.places.cwd.join("mine");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::write(elsewhere.join("SKILL.md"), text("voice", "mine")).unwrap();
    fs::create_dir_all(world.root()).unwrap();
    symlink(&elsewhere, world.root().join("voice")).unwrap();
    let one = skill("voice", "one");
    assert_eq!(world.install(&one, OnConflict::Fail).unwrap_err().code(), Code::F0307);
    world.install(&one, OnConflict::Replace).unwrap();
    assert_eq!(world.visible()["voice"], one.digest());
    assert_eq!(fs::read_to_string(elsewhere.join("SKILL.md")).unwrap(), text("voice", "mine"));
}

#[test]
fn pins_are_checked_before_an_install() {
    let world = world();
    let (one, two) = (skill("voice", "one"), skill("voice", "two"));
    world.install(&one, OnConflict::Fail).unwrap();
    let pins = lock(&world.places, [&world.installed("voice")]).unwrap();
    check_pins(&pins, &[&one, &skill("other", "x")]).unwrap();
    let error = check_pins(&pins, &[&two]).unwrap_err();
    assert_eq!((error.code(), error.exit()), (Code::F0309, Exit::Refused));
    assert!(
        error.words().en.contains(&one.digest().to_string())
            && error.words().en.contains(&two.digest().to_string())
    );
}

// ---- the world ends ------------------------------------------------------------------------------------------------

/// Runs `act` with a disk that fails at step 1, 2, 3 … until it no longer does; after each, `check` looks at the damage.
fn at_every_step(
    make: fn(u64) -> Disk,
    prepare: impl Fn(&World),
    act: impl Fn(&Disk, &World) -> Result<(), ManageError>,
    check: impl Fn(&World, Result<(), ManageError>, u64),
) -> u64 {
    for step in 1..500 {
        let world = world();
        prepare(&world);
        let disk = make(step);
        let result = act(&disk, &world);
        if !disk.is_struck() {
            result.unwrap();
            return step - 1;
        }
        check(&world, result, step);
    }
    panic!("the sweep does not end");
}

#[test]
fn a_crash_at_any_step_of_an_install_leaves_nothing_or_all() {
    let one = skill("voice", "one");
    let steps = at_every_step(
        Disk::dying_at,
        |_| {},
        |disk, world| install_on(disk, &world.places, &Scope::Global, &[&one], OnConflict::Fail).map(drop),
        |world, _, step| {
            let seen = world.visible();
            assert!(
                seen.is_empty() || seen == BTreeMap::from([("voice".into(), one.digest())]),
                "step {step}"
            );
            world.install(&one, OnConflict::Fail).unwrap();
            assert_eq!(world.visible()["voice"], one.digest());
            assert_eq!(world.leftovers(), 0, "step {step}");
        },
    );
    assert!(steps > 15, "{steps}");
}

#[test]
fn a_crash_at_any_step_of_a_replace_leaves_old_or_new_and_loses_neither() {
    let (old, new) = (skill("voice", "old"), skill("voice", "new"));
    let steps = at_every_step(
        Disk::dying_at,
        |world| drop(world.install(&old, OnConflict::Fail).unwrap()),
        |disk, world| install_on(disk, &world.places, &Scope::Global, &[&new], OnConflict::Replace).map(drop),
        |world, _, step| {
            let seen = world.visible()["voice"];
            assert!(seen == old.digest() || seen == new.digest(), "step {step}");
            world.install(&new, OnConflict::Replace).unwrap();
            assert_eq!(world.visible(), BTreeMap::from([("voice".into(), new.digest())]), "step {step}");
            assert!(world.trashed().contains(&old.digest()), "step {step}: the old skill is lost");
            assert_eq!(world.leftovers(), 0, "step {step}");
        },
    );
    assert!(steps > 18, "{steps}");
}

#[test]
fn a_crash_of_a_replace_without_exchange_is_repaired_by_the_next_start() {
    let (old, new) = (skill("voice", "old"), skill("voice", "new"));
    let missing = std::cell::Cell::new(false);
    at_every_step(
        |step| Disk::dying_at(step).with(FileSystem::WithoutExchange),
        |world| drop(world.install(&old, OnConflict::Fail).unwrap()),
        |disk, world| install_on(disk, &world.places, &Scope::Global, &[&new], OnConflict::Replace).map(drop),
        |world, _, step| {
            missing.set(missing.get() | world.visible().is_empty());
            clean_stale_stages(&world.places, &world.root()).unwrap();
            let seen = world.visible()["voice"];
            assert!(seen == old.digest() || seen == new.digest(), "step {step}");
            assert!(
                seen == old.digest() || world.trashed().contains(&old.digest()),
                "step {step}: the old is lost"
            );
            assert_eq!(world.leftovers(), 0, "step {step}");
        },
    );
    assert!(missing.get(), "the sweep must meet the gap that recovery is for");
}

#[test]
fn between_file_systems_skills_are_copied_whole_before_they_leave() {
    let one = skill("voice", "one");
    let scope = Scope::preset("p").unwrap();
    at_every_step(
        |step| Disk::dying_at(step).with(FileSystem::OnePerDirectory),
        |world| drop(world.install(&one, OnConflict::Fail).unwrap()),
        |disk, world| move_to_scope_on(disk, &world.places, &world.installed("voice"), &scope).map(drop),
        |world, _, step| {
            let there = visible(&world.places.scope_dir(&scope));
            assert!(!world.visible().is_empty() || !there.is_empty(), "step {step}: lost");
            assert!(
                world.visible().values().chain(there.values()).all(|digest| *digest == one.digest()),
                "step {step}"
            );
        },
    );
    at_every_step(
        |step| Disk::dying_at(step).with(FileSystem::OnePerDirectory),
        |world| drop(world.install(&one, OnConflict::Fail).unwrap()),
        |disk, world| remove_on(disk, &world.places, &world.installed("voice"), Removal::Trash).map(drop),
        |world, _, step| {
            assert!(
                world.visible().contains_key("voice") || world.trashed().contains(&one.digest()),
                "step {step}"
            );
            assert!(
                world.visible().values().chain(&world.trashed()).all(|digest| *digest == one.digest()),
                "step {step}"
            );
        },
    );
    let two = skill("voice", "two");
    at_every_step(
        |step| Disk::dying_at(step).with(FileSystem::OnePerDirectory),
        |world| drop(world.install(&one, OnConflict::Fail).unwrap()),
        |disk, world| install_on(disk, &world.places, &Scope::Global, &[&two], OnConflict::Replace).map(drop),
        |world, _, step| {
            world.install(&two, OnConflict::Replace).unwrap();
            assert_eq!(world.visible()["voice"], two.digest());
            assert!(world.trashed().contains(&one.digest()), "step {step}: the old skill is lost");
        },
    );
}

#[test]
fn a_full_disk_at_any_step_undoes_everything() {
    let (old, new, other) = (skill("voice", "old"), skill("voice", "new"), skill("zeta", "x"));
    at_every_step(
        Disk::full_at,
        |world| drop(world.install(&old, OnConflict::Fail).unwrap()),
        |disk, world| {
            install_on(disk, &world.places, &Scope::Global, &[&new, &other], OnConflict::Replace).map(drop)
        },
        |world, result, step| {
            let seen = world.visible();
            match result {
                Ok(()) => assert_eq!(seen.len(), 2, "step {step}"),
                Err(error) => {
                    assert_eq!(seen, BTreeMap::from([("voice".into(), old.digest())]), "step {step}");
                    assert!(error.words().en.contains("no space left for `"), "{}", error.words().en);
                    assert!(error.hint().is_some());
                }
            }
            install(&world.places, &Scope::Global, &[&new, &other], OnConflict::Replace).unwrap();
            assert_eq!(world.visible().len(), 2);
            assert!(world.trashed().contains(&old.digest()), "step {step}");
            assert_eq!(world.leftovers(), 0, "step {step}");
        },
    );
}

#[test]
fn a_crash_at_any_step_of_a_rename_leaves_whole_skills() {
    let old = skill("voice", "old");
    let renamed = skill("song", "old");
    let name = SkillName::parse("song").unwrap();
    at_every_step(
        Disk::dying_at,
        |world| drop(world.install(&old, OnConflict::Fail).unwrap()),
        |disk, world| rename_on(disk, &world.places, &world.installed("voice"), &name).map(drop),
        |world, _, step| {
            let seen = world.visible();
            assert!(!seen.is_empty(), "step {step}");
            for (name, digest) in &seen {
                let expected = if name == "voice" { old.digest() } else { renamed.digest() };
                assert_eq!(*digest, expected, "step {step}");
            }
            world.install(&skill("next", "x"), OnConflict::Fail).unwrap();
            assert_eq!(world.leftovers(), 0, "step {step}");
        },
    );
}

#[test]
fn a_crash_at_any_step_of_a_removal_keeps_the_skill_or_its_trash() {
    let voice = skill("voice", "one");
    at_every_step(
        Disk::dying_at,
        |world| drop(world.install(&voice, OnConflict::Fail).unwrap()),
        |disk, world| remove_on(disk, &world.places, &world.installed("voice"), Removal::Trash).map(drop),
        |world, _, step| {
            let there = world.visible().get("voice") == Some(&voice.digest());
            assert!(there != world.trashed().contains(&voice.digest()), "step {step}");
        },
    );
    at_every_step(
        Disk::dying_at,
        |world| drop(world.install(&voice, OnConflict::Fail).unwrap()),
        |disk, world| remove_on(disk, &world.places, &world.installed("voice"), Removal::Purge).map(drop),
        |world, _, step| {
            assert!(world.visible().values().all(|digest| *digest == voice.digest()), "step {step}");
            world.install(&voice, OnConflict::Fail).unwrap();
            assert_eq!(world.leftovers(), 0, "step {step}");
        },
    );
}

#[test]
fn a_crash_at_any_step_of_a_write_leaves_the_old_or_the_new_file() {
    let voice = skill("voice", "one");
    let path = rel("references/guide.md");
    at_every_step(
        Disk::dying_at,
        |world| drop(world.install(&voice, OnConflict::Fail).unwrap()),
        |disk, world| {
            write_file_on(disk, &world.places, &world.installed("voice"), &path, b"two", None).map(drop)
        },
        |world, _, step| {
            let now = fs::read(world.root().join("voice/references/guide.md")).unwrap();
            assert!(now == b"one" || now == b"two", "step {step}");
            let files: Vec<_> = skill_digest(&world.root().join("voice")).unwrap().1;
            assert_eq!(files.len(), 3, "step {step}: nothing is added to the skill");
        },
    );
}

#[test]
fn only_our_own_and_only_dead_stages_are_cleaned() {
    let world = world();
    let root = world.root();
    fs::create_dir_all(&root).unwrap();
    let running = stage::Stage::create(&Disk::real(), &root).unwrap();
    fs::write(running.path("half"), "x").unwrap();
    fs::create_dir_all(root.join(".fugato-stage-someone/precious")).unwrap();
    fs::create_dir_all(root.join(".other")).unwrap();
    let target = world.places.cwd.join("target");
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("owner.lock"), "").unwrap();
    symlink(&target, root.join(".fugato-stage-link")).unwrap();
    assert_eq!(clean_stale_stages(&world.places, &root).unwrap(), []);
    assert!(running.path("half").exists() && target.join("owner.lock").exists());
    assert!(root.join(".fugato-stage-someone/precious").exists() && root.join(".other").exists());
    drop(running);
    assert!(matches!(clean_stale_stages(&world.places, &root).unwrap()[..], [Recovered::Deleted { .. }]));
}

#[test]
fn a_skill_left_aside_by_a_crash_is_put_back() {
    let world = world();
    let voice = skill("voice", "one");
    world.install(&voice, OnConflict::Fail).unwrap();
    // What a file system without exchange can leave: the old one is out, the new one not yet in.
    let mut stage = stage::Stage::create(&Disk::real(), &world.root()).unwrap();
    stage.keep().unwrap();
    fs::rename(world.root().join("voice"), stage.old_path("voice")).unwrap();
    drop(stage);
    let recovered = clean_stale_stages(&world.places, &world.root()).unwrap();
    assert!(matches!(recovered[0], Recovered::Restored { .. }), "{recovered:?}");
    assert_eq!(world.visible(), BTreeMap::from([("voice".into(), voice.digest())]));
}

#[test]
fn of_eight_concurrent_installs_one_wins_and_nothing_is_half() {
    for on_conflict in [OnConflict::Fail, OnConflict::Replace, OnConflict::Skip] {
        let world = world();
        let skills: Vec<_> = (0..8).map(|n| skill("voice", &format!("version {n}"))).collect();
        let results: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                skills.iter().map(|skill| scope.spawn(|| world.install(skill, on_conflict))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let all: BTreeSet<_> = skills.iter().map(BundledSkill::digest).collect();
        let winner = world.visible()["voice"];
        assert!(all.contains(&winner));
        let fresh = results
            .iter()
            .filter(|result| result.as_ref().is_ok_and(|one| one.done == Done::Installed))
            .count();
        assert_eq!(fresh, 1, "{on_conflict:?}");
        match on_conflict {
            OnConflict::Fail => {
                let conflicts = results.iter().filter_map(|result| result.as_ref().err());
                assert_eq!(conflicts.filter(|error| error.exit() == Exit::Conflict).count(), 7);
            }
            OnConflict::Skip => assert!(results.iter().all(Result::is_ok)),
            OnConflict::Replace => {
                let mut kept = world.trashed();
                kept.insert(winner);
                assert_eq!(kept, all, "every version is somewhere");
            }
        }
        assert_eq!(world.leftovers(), 0);
    }
}

/// Everyone cleans up before working, and meets the stages of the others at every moment of their life.
#[test]
fn cleaning_beside_others_who_work_is_never_an_error() {
    let world = world();
    let root = world.root();
    let disk = Disk::real();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..1_000 {
                    stage::clean_on(&disk, &world.places, &root).unwrap();
                    stage::Stage::create(&disk, &root).unwrap().discard();
                }
            });
        }
    });
    assert_eq!(world.leftovers(), 0);
}

// ---- remove, move, rename ------------------------------------------------------------------------------------------

#[test]
fn a_removed_skill_is_in_the_trash_and_a_purged_one_is_gone() {
    let world = world();
    let voice = skill("voice", "one");
    for _ in 0..2 {
        world.install(&voice, OnConflict::Fail).unwrap();
        let removed = remove(&world.places, &world.installed("voice"), Removal::Trash).unwrap();
        assert_eq!(skill_digest(&removed.trash.unwrap()).unwrap().0, voice.digest());
    }
    assert!(world.visible().is_empty());
    world.install(&voice, OnConflict::Fail).unwrap();
    let installed = world.installed("voice");
    assert_eq!(remove(&world.places, &installed, Removal::Purge).unwrap().trash, None);
    assert_eq!((world.visible().len(), world.leftovers()), (0, 0));
    let error = remove(&world.places, &installed, Removal::Trash).unwrap_err();
    assert_eq!((error.code(), error.exit()), (Code::F0310, Exit::NotFound));
}

#[test]
fn removing_a_linked_skill_removes_the_link_only() {
    let world = world();
    let target = world.places.cwd.join("mine");
    fs::create_dir_all(&target).unwrap();
    fs::write(target.join("SKILL.md"), text("voice", "x")).unwrap();
    fs::create_dir_all(world.root()).unwrap();
    for removal in [Removal::Trash, Removal::Purge] {
        symlink(&target, world.root().join("voice")).unwrap();
        let installed = world.installed("voice");
        let name = SkillName::parse("other").unwrap();
        assert!(matches!(rename(&world.places, &installed, &name), Err(ManageError::IsLink { .. })));
        assert!(matches!(
            move_to_scope(&world.places, &installed, &Scope::Project),
            Err(ManageError::IsLink { .. })
        ));
        remove(&world.places, &installed, removal).unwrap();
        assert!(target.join("SKILL.md").exists() && world.root().join("voice").symlink_metadata().is_err());
    }
}

#[test]
fn a_skill_moves_between_scopes_and_meets_conflicts() {
    let world = world();
    let voice = skill("voice", "one");
    world.install(&voice, OnConflict::Fail).unwrap();
    let scope = Scope::preset("中文导演").unwrap();
    let moved = move_to_scope(&world.places, &world.installed("voice"), &scope).unwrap();
    assert_eq!(skill_digest(&moved.to).unwrap().0, voice.digest());
    assert!(world.visible().is_empty());
    world.install(&skill("voice", "two"), OnConflict::Fail).unwrap();
    let error = move_to_scope(&world.places, &world.installed("voice"), &scope).unwrap_err();
    assert_eq!(error.code(), Code::F0307);
    assert_eq!(skill_digest(&moved.to).unwrap().0, voice.digest());
    let same = move_to_scope(&world.places, &world.installed("voice"), &Scope::Global).unwrap();
    assert_eq!(same.from, same.to);
}

#[test]
fn renaming_changes_the_directory_and_the_name_and_nothing_else() {
    let world = world();
    world.install(&skill("voice", "one"), OnConflict::Fail).unwrap();
    fs::write(
        world.root().join("voice/SKILL.md"),
        "---\r\n# mine\r\nname: 'voice' # here\r\ndescription: d\r\n---\r\nname: voice\r\n",
    )
    .unwrap();
    fs::create_dir(world.root().join("voice/.git")).unwrap();
    fs::write(world.root().join("voice/.git/config"), "mine").unwrap();
    symlink("SKILL.md", world.root().join("voice/link.md")).unwrap();
    let name = SkillName::parse("歌声").unwrap();
    let renamed = rename(&world.places, &world.installed("voice"), &name).unwrap();
    assert!(!renamed.from.exists() && renamed.to == world.root().join("歌声"));
    assert_eq!(
        fs::read_to_string(renamed.to.join("SKILL.md")).unwrap(),
        "---\r\n# mine\r\nname: '歌声' # here\r\ndescription: d\r\n---\r\nname: voice\r\n"
    );
    assert_eq!(fs::read_to_string(renamed.to.join(".git/config")).unwrap(), "mine");
    assert_eq!(fs::read_link(renamed.to.join("link.md")).unwrap(), Path::new("SKILL.md"));
    assert!(fs::metadata(renamed.to.join("scripts/run.sh")).unwrap().permissions().mode() & 0o111 != 0);
    assert_eq!(world.leftovers(), 0);

    // The directory has the name already, the file not yet.
    fs::write(renamed.to.join("SKILL.md"), text("voice", "x")).unwrap();
    rename(&world.places, &world.installed("歌声"), &name).unwrap();
    assert_eq!(fs::read_to_string(renamed.to.join("SKILL.md")).unwrap(), text("歌声", "x"));
}

#[test]
fn renaming_onto_an_installed_skill_or_an_uneditable_name_changes_nothing() {
    let world = world();
    world.install(&skill("voice", "one"), OnConflict::Fail).unwrap();
    world.install(&skill("song", "two"), OnConflict::Fail).unwrap();
    let before = world.visible();
    let song = SkillName::parse("song").unwrap();
    assert_eq!(rename(&world.places, &world.installed("voice"), &song).unwrap_err().code(), Code::F0307);
    assert_eq!(world.visible(), before);
    fs::write(world.root().join("voice/SKILL.md"), "---\nname: >-\n  voice\ndescription: d\n---\n").unwrap();
    let before = world.visible();
    let other = SkillName::parse("other").unwrap();
    assert_eq!(rename(&world.places, &world.installed("voice"), &other).unwrap_err().code(), Code::F0109);
    assert_eq!((world.visible(), world.leftovers()), (before, 0));
}

// ---- files, export, lock -------------------------------------------------------------------------------------------

#[test]
fn a_file_is_written_against_the_digest_that_was_read() {
    let world = world();
    world.install(&skill("voice", "one"), OnConflict::Fail).unwrap();
    let installed = world.installed("voice");
    let path = rel("references/guide.md");
    let read = read_file(&installed, &path).unwrap();
    assert_eq!(read.bytes, b"one");
    let written = write_file(&world.places, &installed, &path, b"two", Some(read.digest)).unwrap();
    assert_eq!((written.digest, written.kept), (digest_bytes(b"two"), None));
    let error = write_file(&world.places, &installed, &path, b"three", Some(read.digest)).unwrap_err();
    assert_eq!((error.code(), error.exit()), (Code::F0313, Exit::Conflict));
    assert_eq!(read_file(&installed, &path).unwrap().bytes, b"two");
    // Unchecked: the previous content is kept.
    let written = write_file(&world.places, &installed, &path, b"four", None).unwrap();
    assert_eq!(fs::read(written.kept.unwrap()).unwrap(), b"two");
    write_file(&world.places, &installed, &rel("new/deep.md"), b"x", None).unwrap();
    assert_eq!(read_file(&installed, &rel("new/deep.md")).unwrap().bytes, b"x");
    let run = rel("scripts/run.sh");
    write_file(&world.places, &installed, &run, b"#!/bin/bash\n", None).unwrap();
    assert!(fs::metadata(installed.dir.join("scripts/run.sh")).unwrap().permissions().mode() & 0o111 != 0);
    assert_eq!(read_file(&installed, &rel("nope")).unwrap_err().exit(), Exit::NotFound);
    assert_eq!(world.leftovers(), 0);
}

#[test]
fn of_eight_writers_with_one_digest_one_wins() {
    let world = world();
    world.install(&skill("voice", "one"), OnConflict::Fail).unwrap();
    let installed = world.installed("voice");
    let path = rel("references/guide.md");
    let digest = read_file(&installed, &path).unwrap().digest;
    let wins = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8u8)
            .map(|n| {
                let (world, installed, path) = (&world, &installed, &path);
                scope.spawn(move || write_file(&world.places, installed, path, &[n], Some(digest)).is_ok())
            })
            .collect();
        threads.into_iter().filter(|_| true).map(|thread| thread.join().unwrap()).filter(|won| *won).count()
    });
    assert_eq!(wins, 1);
}

#[test]
fn files_outside_links_and_broken_skill_files_are_refused() {
    let world = world();
    world.install(&skill("voice", "one"), OnConflict::Fail).unwrap();
    let installed = world.installed("voice");
    fs::write(world.root().join("secret"), "secret").unwrap();
    symlink("../secret", installed.dir.join("out")).unwrap();
    symlink("references", installed.dir.join("refs")).unwrap();
    assert_eq!(read_file(&installed, &rel("out")).unwrap_err().code(), Code::F0126);
    assert_eq!(read_file(&installed, &rel("refs/guide.md")).unwrap().bytes, b"one");
    for path in ["out", "refs/guide.md"] {
        let error = write_file(&world.places, &installed, &rel(path), b"x", None).unwrap_err();
        assert!(matches!(error, ManageError::IsLink { .. }), "{path}: {error}");
    }
    assert_eq!(fs::read_to_string(world.root().join("secret")).unwrap(), "secret");
    let before = fs::read(installed.dir.join("SKILL.md")).unwrap();
    let refused = |path: &str, bytes: &[u8]| {
        write_file(&world.places, &installed, &rel(path), bytes, None).unwrap_err().code()
    };
    assert_eq!(refused("SKILL.md", b"no frontmatter"), Code::F0101);
    assert_eq!(refused("what?", b""), Code::F0308);
    assert_eq!(refused(".git/hooks/pre-commit", b""), Code::F0308);
    assert_eq!(refused("big", &vec![0; (4 << 20) + 1]), Code::F0122);
    assert_eq!(fs::read(installed.dir.join("SKILL.md")).unwrap(), before);
}

#[test]
fn an_export_is_stable_and_imports_with_the_same_digest() {
    let world = world();
    let voice = skill("voice", "one");
    world.install(&voice, OnConflict::Fail).unwrap();
    let installed = world.installed("voice");
    let bytes = export(&installed).unwrap();
    assert_eq!(bytes, export(&installed).unwrap());
    let file = world.places.cwd.join("voice.bin");
    fs::write(&file, &bytes).unwrap();
    let bundle = add_from_path(&file).unwrap();
    assert_eq!(bundle.skills, [voice]);
    let again =
        install(&world.places, &Scope::Project, &bundle.select("x", Select::Only).unwrap(), OnConflict::Fail)
            .unwrap();
    assert_eq!(Some(again[0].digest), installed.digest);
}

#[test]
fn a_skill_of_the_most_files_is_exported_whatever_a_file_manager_left_in_it() {
    let world = world();
    let mut voice = skill("voice", "one");
    let wanted = fugato_skill::limits::SKILL_FILES - voice.files.len();
    let file = BundledFile { bytes: b"x".to_vec(), executable: false };
    voice.files.extend((0..wanted).map(|n| (rel(&format!("references/{n}.md")), file.clone())));
    let outcome = world.install(&voice, OnConflict::Fail).unwrap();
    fs::write(outcome.dir.join(".DS_Store"), "finder").unwrap();
    fs::write(outcome.dir.join("references/.DS_Store"), "finder").unwrap();
    let installed = world.installed("voice");
    assert_eq!(installed.digest, Some(outcome.digest), "looking at a skill does not change it");
    let file = world.places.cwd.join("voice.zip");
    fs::write(&file, export(&installed).unwrap()).unwrap();
    let bundle = add_from_path(&file).unwrap();
    assert_eq!(bundle.skills, [voice]);
    assert_eq!(add_from_path(&outcome.dir).unwrap().skills, bundle.skills);
}

#[test]
fn a_lock_pins_and_verify_finds_what_changed() {
    let world = world();
    for name in ["a", "b", "c"] {
        world.install(&skill(name, "one"), OnConflict::Fail).unwrap();
    }
    let inventory = |names: &[&str]| Inventory::new(names.iter().map(|name| world.installed(name)).collect());
    let pins = lock(&world.places, inventory(&["a", "b", "c"]).all()).unwrap();
    assert_eq!(pins.to_text(), lock(&world.places, inventory(&["c", "b", "a"]).all()).unwrap().to_text());
    assert_eq!(pins.skills[0].source, "$FUGATO_HOME/skills/global/a");
    assert_eq!(verify(&world.places, &pins, &inventory(&["a", "b", "c"])).unwrap(), []);
    fs::write(world.root().join("b/references/guide.md"), "changed").unwrap();
    world.install(&skill("d", "one"), OnConflict::Fail).unwrap();
    let drifts = verify(&world.places, &pins, &inventory(&["b", "c", "d"])).unwrap();
    let kinds: Vec<_> = drifts.iter().map(|drift| (drift.name.as_str(), &drift.kind)).collect();
    assert!(
        matches!(
            kinds[..],
            [("a", DriftKind::Missing), ("b", DriftKind::Changed { .. }), ("d", DriftKind::Extra { .. })]
        ),
        "{kinds:?}"
    );
}

// ---- sources -------------------------------------------------------------------------------------------------------

fn write_skill(dir: &Path, name: &str) {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join("SKILL.md"), text(name, "x")).unwrap();
}

fn refused(path: &Path) -> Code {
    add_from_path(path).map(|bundle: Bundle| bundle.skills.len()).unwrap_err().code()
}

#[test]
fn directories_are_read_by_the_rules_of_archives() {
    let world = world();
    let dir = world.places.cwd.join("voice.v2");
    write_skill(&dir, "voice");
    fs::create_dir_all(dir.join(".git/refs")).unwrap();
    fs::write(dir.join(".git/config"), "").unwrap();
    fs::write(dir.join(".DS_Store"), "").unwrap();
    symlink("SKILL.md", dir.join("inside.md")).unwrap();
    let bundle = add_from_path(&dir).unwrap();
    assert_eq!(bundle.skills[0].dir_name, "voice");
    assert_eq!(
        bundle.skills[0].files.keys().map(RelPath::as_str).collect::<Vec<_>>(),
        ["SKILL.md", "inside.md"]
    );

    symlink("/etc/passwd", dir.join("outside")).unwrap();
    assert_eq!(refused(&dir), Code::F0302);
    fs::remove_file(dir.join("outside")).unwrap();
    fs::write(dir.join("what?"), "").unwrap();
    assert_eq!(refused(&dir), Code::F0308);
    fs::remove_file(dir.join("what?")).unwrap();
    fs::write(dir.join("A.md"), "").unwrap();
    fs::write(dir.join("a.md"), "").unwrap();
    assert_eq!(refused(&dir), Code::F0304);
    fs::remove_file(dir.join("A.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        dir.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    assert_eq!(refused(&dir), Code::F0302);
}

#[test]
fn a_skill_is_found_in_a_large_repository_and_the_rest_is_not_opened() {
    let world = world();
    let repository = world.places.cwd.join("repo");
    write_skill(&repository.join(".claude/skills/voice"), "voice");
    fs::create_dir_all(repository.join("src")).unwrap();
    for n in 0..700 {
        fs::write(repository.join(format!("src/what? {n}")), "").unwrap();
    }
    symlink("/etc/passwd", repository.join("src/outside")).unwrap();
    assert_eq!(add_from_path(&repository).unwrap().skills[0].dir_name, "voice");
    write_skill(&repository.join("a/b/c/d/deep"), "deep");
    assert_eq!(refused(&repository), Code::F0305);
    for n in 0..600 {
        fs::write(repository.join(format!(".claude/skills/voice/{n}")), "").unwrap();
    }
    assert_eq!(refused(&repository), Code::F0303);
}

#[test]
fn an_orchestrator_is_installed_and_renamed_like_a_skill() {
    let world = world();
    let text = "---\nname: chorus\ndescription: d\nskills:\n  - voice\n---\nBody\n";
    let file = BundledFile { bytes: text.into(), executable: false };
    let chorus =
        BundledSkill { dir_name: "chorus".into(), files: BTreeMap::from([(rel("oskill.md"), file)]) };
    let outcome = world.install(&chorus, OnConflict::Fail).unwrap();
    let mut installed = Installed { file: "oskill.md".into(), ..installed_at(&outcome) };
    installed.head.name = Some(outcome.name.clone());
    let renamed = rename(&world.places, &installed, &SkillName::parse("choir").unwrap()).unwrap();
    assert_eq!(fs::read_to_string(renamed.to.join("oskill.md")).unwrap(), text.replace("chorus", "choir"));
}

fn installed_at(outcome: &Outcome) -> Installed {
    Installed {
        head: fugato_skill::SkillHead::default(),
        scope: Scope::Global,
        rank: 0,
        dir: outcome.dir.clone(),
        file: "SKILL.md".into(),
        digest: Some(outcome.digest),
        diagnostics: Vec::new(),
        usable: true,
    }
}

#[test]
fn a_stage_is_not_an_installed_skill() {
    let world = world();
    world.install(&skill("voice", "one"), OnConflict::Fail).unwrap();
    let stage = stage::Stage::create(&Disk::real(), &world.root()).unwrap();
    write_skill(&stage.path("ghost"), "ghost");
    let found = crate::discover(&crate::roots(&world.places, &crate::Selection::default()), None);
    let names: Vec<_> = found.inventory.all().iter().map(Installed::label).collect();
    assert_eq!(names, ["voice"]);
}

#[test]
fn a_source_is_judged_by_its_content() {
    let world = world();
    let at = |name: &str| world.places.cwd.join(name);
    let file = BundledFile { bytes: text("voice", "x").into(), executable: false };
    let files = BTreeMap::from([(rel("SKILL.md"), file)]);
    fs::write(at("zip.json"), write_zip("voice", &files)).unwrap();
    assert_eq!(add_from_path(&at("zip.json")).unwrap().skills.len(), 1);
    let card = serde_json::json!({"version": 1, "items": [{"bundleFormat": "inline-files-v1", "name": "voice",
        "files": [{"path": "SKILL.md", "encoding": "utf8", "content": text("voice", "x")}]}]});
    fs::write(at("card.zip"), card.to_string()).unwrap();
    assert_eq!(add_from_path(&at("card.zip")).unwrap().skills[0].files, files);
    fs::write(at("x.zip"), b"\x1f\x8b\x08").unwrap();
    assert_eq!(refused(&at("x.zip")), Code::F0306);
    fs::write(at("SKILL.md"), text("voice", "x")).unwrap();
    let error = add_from_path(&at("SKILL.md")).unwrap_err();
    assert!(error.hint().unwrap().en.contains("fugato skill add"));
    fs::create_dir(at("empty")).unwrap();
    assert_eq!(refused(&at("empty")), Code::F0305);
    assert_eq!(add_from_path(&at("nope")).unwrap_err().exit(), Exit::NotFound);
}

#[test]
fn a_read_only_place_says_so_with_its_path() {
    let world = world();
    // Root may write anywhere: there the test would show nothing.
    if rustix::process::geteuid().is_root() {
        let error = ManageError::Disk(DiskError {
            path: world.root(),
            source: std::io::ErrorKind::ReadOnlyFilesystem.into(),
        });
        assert!(error.words().en.contains("read-only") && error.words().zh.contains("只读"));
        assert_eq!((error.exit(), error.code()), (Exit::Refused, Code::F0314));
        return;
    }
    fs::create_dir_all(&world.places.home).unwrap();
    fs::set_permissions(&world.places.home, fs::Permissions::from_mode(0o555)).unwrap();
    let error = world.install(&skill("voice", "x"), OnConflict::Fail).unwrap_err();
    fs::set_permissions(&world.places.home, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(error.exit(), Exit::Refused);
    assert!(error.words().en.contains("skills"));
}
