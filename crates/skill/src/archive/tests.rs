//! The hostile corpus: archives built byte by byte, because honest writers refuse to write them.

use super::*;
use fugato_model::{Code, Diagnostic, RelPath};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

const SKILL: &[u8] = b"---\nname: voice\ndescription: Keeps a voice.\n---\nBody\n";

/// One entry with every header field at the liar's disposal.
#[derive(Clone)]
struct Raw {
    name: Vec<u8>,
    local_name: Option<Vec<u8>>,
    data: Vec<u8>,
    method: u16,
    flags: u16,
    local_flags: Option<u16>,
    crc: u32,
    packed_size: u32,
    size: u32,
    made_by: u16,
    attributes: u32,
    extra: Vec<u8>,
    offset: Option<u32>,
    /// Bytes written behind the data.
    after: Vec<u8>,
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn long(value: usize) -> u32 {
    u32::try_from(value).unwrap()
}

fn stored(name: impl AsRef<[u8]>, bytes: &[u8]) -> Raw {
    Raw {
        name: name.as_ref().to_vec(),
        local_name: None,
        data: bytes.to_vec(),
        method: 0,
        flags: 0,
        local_flags: None,
        crc: crc(bytes),
        packed_size: long(bytes.len()),
        size: long(bytes.len()),
        made_by: 3 << 8 | 20,
        attributes: 0o100_644 << 16,
        extra: Vec::new(),
        offset: None,
        after: Vec::new(),
    }
}

fn deflated(name: &str, bytes: &[u8]) -> Raw {
    let data = deflate(bytes);
    Raw { method: 8, packed_size: long(data.len()), data, ..stored(name, bytes) }
}

fn with_mode(name: &str, bytes: &[u8], mode: u32) -> Raw {
    Raw { attributes: mode << 16, ..stored(name, bytes) }
}

fn skill() -> Raw {
    deflated("voice/SKILL.md", SKILL)
}

fn zip(entries: &[Raw]) -> Vec<u8> {
    zip_with(entries, &[], |_| {})
}

/// `edit` may change the end record.
fn zip_with(entries: &[Raw], prefix: &[u8], edit: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut file = prefix.to_vec();
    let mut central = Vec::new();
    for raw in entries {
        let offset = raw.offset.unwrap_or(long(file.len()));
        let shared = |flags: u16, name: &[u8], extra: &[u8]| {
            let mut out = Vec::new();
            for value in [20, flags, raw.method, 0, 33] {
                out.extend(value.to_le_bytes());
            }
            for value in [raw.crc, raw.packed_size, raw.size] {
                out.extend(value.to_le_bytes());
            }
            for value in [name.len(), extra.len()] {
                out.extend(u16::try_from(value).unwrap().to_le_bytes());
            }
            out
        };
        let local_name = raw.local_name.as_ref().unwrap_or(&raw.name);
        file.extend(b"PK\x03\x04");
        file.extend(shared(raw.local_flags.unwrap_or(raw.flags), local_name, &[]));
        file.extend(local_name);
        file.extend(&raw.data);
        file.extend(&raw.after);
        central.extend(b"PK\x01\x02");
        central.extend(raw.made_by.to_le_bytes());
        central.extend(shared(raw.flags, &raw.name, &raw.extra));
        central.extend([0; 6]);
        central.extend(raw.attributes.to_le_bytes());
        central.extend(offset.to_le_bytes());
        central.extend(&raw.name);
        central.extend(&raw.extra);
    }
    let start = long(file.len());
    file.extend(&central);
    let count = u16::try_from(entries.len()).unwrap();
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend(count.to_le_bytes());
    end.extend(count.to_le_bytes());
    end.extend(long(central.len()).to_le_bytes());
    end.extend(start.to_le_bytes());
    end.extend([0, 0]);
    edit(&mut end);
    file.extend(end);
    file
}

fn refused(bytes: &[u8]) -> Diagnostic {
    let mut errors = read_zip("x.zip", bytes).expect_err("must be refused");
    assert!(errors.iter().all(Diagnostic::is_error));
    errors.swap_remove(0)
}

fn file(bytes: &[u8]) -> BundledFile {
    BundledFile { bytes: bytes.to_vec(), executable: false }
}

fn files(of: &[(&str, &[u8])]) -> BTreeMap<RelPath, BundledFile> {
    of.iter().map(|(path, bytes)| (RelPath::parse(path).unwrap(), file(bytes))).collect()
}

fn extra_block(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
}

#[test]
fn honest_archives_are_read() {
    let script = with_mode("voice/run.sh", b"#!/bin/sh\n", 0o100_755);
    let bundle = read_zip("x.zip", &zip(&[stored("voice/", b""), skill(), script])).unwrap();
    let [voice] = &bundle.skills[..] else { panic!("{bundle:?}") };
    assert_eq!(voice.dir_name, "voice");
    assert_eq!(voice.files.keys().map(RelPath::as_str).collect::<Vec<_>>(), ["SKILL.md", "run.sh"]);
    assert!(voice.files[&RelPath::parse("run.sh").unwrap()].executable);
    assert!(bundle.warnings.is_empty(), "{:?}", bundle.warnings);
}

#[test]
fn names_that_could_leave_are_refused_with_number_and_name() {
    for name in [
        "../x",
        "/x",
        "C:\\x",
        "C:x",
        "a\\..\\..\\x",
        "voice/../../x",
        "\\\\host\\x",
        "..",
        "voice/..",
        "~/../x",
    ] {
        let error = refused(&zip(&[skill(), stored(name, b"")]));
        assert_eq!(error.code, Code::F0301, "{name}");
        assert!(error.message.en.starts_with("entry 2 `"), "{}", error.message.en);
        assert!(error.message.zh.starts_with("条目 2 `"));
    }
}

#[test]
fn names_that_some_system_cannot_create_are_refused() {
    let long = "x".repeat(300);
    let names: [&[u8]; 11] = [
        long.as_bytes(),
        b"a.",
        b"a ",
        b"CON.md",
        b"voice/nul",
        b"a/b:c",
        b"a\0b",
        b"a\x1b[31m",
        b"\xff\xfe",
        b"a//b",
        "bi\u{202e}di".as_bytes(),
    ];
    for name in names {
        let error = refused(&zip(&[skill(), stored(name, b"")]));
        assert_eq!(error.code, Code::F0308, "{name:?}");
        assert!(!error.message.en.contains(['\u{1b}', '\0', '\u{202e}']), "{:?}", error.message.en);
    }
}

#[test]
fn links_and_special_files_are_refused() {
    for (what, mode) in [
        ("symlink", 0o120_777),
        ("fifo", 0o010_644),
        ("char device", 0o020_644),
        ("block device", 0o060_644),
        ("socket", 0o140_644),
        ("directory without slash", 0o040_755),
    ] {
        assert_eq!(
            refused(&zip(&[skill(), with_mode("voice/x", b"/etc/passwd", mode)])).code,
            Code::F0302,
            "{what}"
        );
        // Whoever the archive claims to be made by.
        let dos = Raw { made_by: 20, ..with_mode("voice/x", b"t", mode) };
        assert_eq!(refused(&zip(&[skill(), dos])).code, Code::F0302, "{what}");
    }
    let reparse = Raw { made_by: 20, attributes: 0x400, ..stored("voice/x", b"t") };
    let pkware = Raw { extra: extra_block(0x000d, &[0; 20]), ..stored("voice/x", b"") };
    let asi = Raw { extra: extra_block(0x756e, &[0; 20]), ..stored("voice/x", b"") };
    for (what, raw) in [("reparse point", reparse), ("hard link", pkware), ("ASi link", asi)] {
        assert_eq!(refused(&zip(&[skill(), raw])).code, Code::F0302, "{what}");
    }
    // A file written through a link needs the link first.
    let through = zip(&[skill(), with_mode("voice/d", b"/tmp", 0o120_777), stored("voice/d/x", b"")]);
    assert_eq!(refused(&through).code, Code::F0302);
}

#[test]
fn setuid_bits_are_dropped_with_a_warning() {
    let bundle = read_zip("x.zip", &zip(&[skill(), with_mode("voice/run", b"", 0o104_755)])).unwrap();
    assert_eq!(bundle.warnings[0].code, Code::F0302);
    assert!(!bundle.warnings[0].is_error() && bundle.warnings[0].message.en.contains("4755"));
    assert!(bundle.skills[0].files[&RelPath::parse("run").unwrap()].executable);
}

#[test]
fn bombs_are_stopped_at_real_bytes() {
    let bomb = deflated("voice/zeros", &vec![0; 3 << 20]);
    assert_eq!(refused(&zip(&[skill(), bomb.clone()])).code, Code::F0303);
    // The header lies small: it stops one byte past the lie.
    let liar = Raw { size: 10, ..bomb.clone() };
    let error = refused(&zip(&[skill(), liar]));
    assert!(error.code == Code::F0303 && error.message.en.contains("header says 10 bytes"), "{error:?}");
    // The header lies large.
    let boast = Raw { size: 4_000_000_000, ..deflated("voice/a", b"small") };
    assert_eq!(refused(&zip(&[skill(), boast])).code, Code::F0303);
    let boast = Raw { size: 7, ..stored("voice/a", b"small") };
    assert_eq!(refused(&zip(&[skill(), boast])).code, Code::F0303);
    // Many entries below the ratio's floor, past the total.
    let part = deflated("", &vec![b'a'; 1 << 20]);
    let parts: Vec<_> = (0..60).map(|n| Raw { name: format!("voice/{n}").into(), ..part.clone() }).collect();
    let error = refused(&zip(&[&[skill()], &parts[..]].concat()));
    assert!(error.code == Code::F0303 && error.message.en.contains("50 MB"), "{error:?}");
}

#[test]
fn small_dense_files_are_fine() {
    let table = deflated("voice/table.csv", &vec![b'0'; 900_000]);
    assert!(read_zip("x.zip", &zip(&[skill(), table])).is_ok());
}

#[test]
fn limits_hold_exactly() {
    let many = |files: usize, directories: usize| {
        let mut entries = vec![skill()];
        entries.extend((1..files).map(|n| stored(format!("voice/{n}"), b"")));
        entries.extend((0..directories).map(|n| stored(format!("voice/d{n}/"), b"")));
        zip(&entries)
    };
    // A skill of the most files, with room for its directories.
    assert!(read_zip("x.zip", &many(512, 88)).is_ok());
    let error = refused(&many(512, 89));
    assert!(error.code == Code::F0303 && error.message.en.contains("limit 600"), "{error:?}");
    let error = refused(&many(513, 0));
    assert!(error.code == Code::F0303 && error.message.en.contains("limit 512"), "{error:?}");
    // The count is not believed either: 601 records under a claim of 1.
    let lying = zip_with(&(0..601).map(|n| stored(format!("{n}"), b"")).collect::<Vec<_>>(), &[], |end| {
        end[8..12].copy_from_slice(&[1, 0, 1, 0]);
    });
    assert_eq!(refused(&lying).code, Code::F0306);
    let noise: Vec<u8> = (0..(4u32 << 20) + 1).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert_eq!(refused(&zip(&[skill(), stored("voice/large", &noise)])).code, Code::F0303);
    assert!(read_zip("x.zip", &zip(&[skill(), stored("voice/large", &noise[1..])])).is_ok());
    let deep = format!("voice/{}x", "d/".repeat(16));
    assert_eq!(refused(&zip(&[skill(), stored(deep, b"")])).code, Code::F0303);
}

#[test]
fn twins_are_refused_with_both_names() {
    for (first, second) in [
        ("voice/a.md", "voice/a.md"),
        ("voice/a.md", "voice/A.md"),
        ("voice/a.md", "voice/./a.md"),
        ("voice/caf\u{e9}", "voice/cafe\u{301}"),
        ("voice/d/x", "voice/D/y"),
        ("voice/x", "voice/x/y"),
        ("voice/x/y", "voice/X"),
    ] {
        let error = refused(&zip(&[skill(), stored(first, b"1"), stored(second, b"2")]));
        assert_eq!(error.code, Code::F0304, "{first} {second}");
        assert!(error.message.en.starts_with("entry 3 `"), "{}", error.message.en);
    }
    assert_eq!(refused(&zip(&[skill(), stored("voice/skill.md", SKILL)])).code, Code::F0304);
}

#[test]
fn an_archive_without_a_skill_or_with_a_buried_one_is_refused() {
    assert_eq!(refused(&zip(&[stored("readme.md", b"")])).code, Code::F0305);
    assert_eq!(refused(&zip(&[])).code, Code::F0305);
    let error = refused(&zip(&[stored("a/b/c/d/voice/SKILL.md", SKILL)]));
    assert_eq!((error.code, error.field.as_deref()), (Code::F0305, Some("a/b/c/d/voice/SKILL.md")));
    assert!(read_zip("x.zip", &zip(&[stored("a/b/c/voice/SKILL.md", SKILL)])).is_ok());
}

#[test]
fn several_skills_are_listed_and_chosen_by_name() {
    let bytes = zip(&[
        stored("repo/README.md", b"hi"),
        stored("repo/skills/a/SKILL.md", SKILL),
        stored("repo/skills/a/examples/inner/SKILL.md", SKILL),
        stored("repo/skills/b/skill.md", SKILL),
        stored("repo/oskills/c/oskill.md", SKILL),
    ]);
    let bundle = read_zip("x.zip", &bytes).unwrap();
    let names: Vec<_> = bundle.skills.iter().map(|skill| skill.dir_name.as_str()).collect();
    assert_eq!(names, ["c", "a", "b"]);
    assert_eq!(bundle.skills[1].files.len(), 2, "a skill inside a skill is its content");
    let error = bundle.select("x.zip", Select::Only).unwrap_err().remove(0);
    assert!(error.code == Code::F0305 && error.message.en.contains("`a`, `b`"), "{error:?}");
    assert_eq!(bundle.select("x.zip", Select::Named(&["b".into()])).unwrap()[0].dir_name, "b");
    assert!(bundle.select("x.zip", Select::Named(&["bb".into()])).is_err());
    assert_eq!(bundle.select("x.zip", Select::All).unwrap().len(), 3);
    assert!(bundle.warnings.iter().any(|warning| warning.message.en.contains("left out 1 file")));
}

#[test]
fn two_skills_of_one_name_are_one_only_when_equal() {
    let same = zip(&[stored("p/a/SKILL.md", SKILL), stored("q/a/SKILL.md", SKILL)]);
    let bundle = read_zip("x.zip", &same).unwrap();
    assert_eq!((bundle.skills.len(), bundle.warnings.len()), (1, 1));
    let different = zip(&[stored("p/a/SKILL.md", SKILL), stored("q/a/SKILL.md", b"other")]);
    assert_eq!(refused(&different).code, Code::F0304);
}

#[test]
fn damaged_and_unsupported_archives_are_refused_by_kind() {
    let good = zip(&[skill(), stored("voice/b", b"bbbb")]);
    let bad_crc = Raw { crc: 1, ..stored("voice/b", b"bbbb") };
    let cut_stream = {
        let mut raw = deflated("voice/b", &SKILL.repeat(10));
        raw.data.truncate(raw.data.len() - 5);
        Raw { packed_size: long(raw.data.len()), ..raw }
    };
    let padded_stream = {
        let mut raw = deflated("voice/b", b"hello");
        raw.data.extend(b"hidden");
        Raw { packed_size: long(raw.data.len()), ..raw }
    };
    let cases: [(&str, Vec<u8>, &str); 16] = [
        ("bad crc", zip(&[skill(), bad_crc]), "checksum"),
        ("encrypted", zip(&[skill(), Raw { flags: 1, ..stored("voice/b", b"") }]), "encrypted"),
        ("strong encryption", zip(&[skill(), Raw { flags: 1 << 6, ..stored("voice/b", b"") }]), "encrypted"),
        (
            "encrypted in one header",
            zip(&[skill(), Raw { local_flags: Some(1), ..stored("voice/b", b"") }]),
            "contradict",
        ),
        ("zstd", zip(&[skill(), Raw { method: 93, ..stored("voice/b", b"") }]), "zstd"),
        ("unknown method", zip(&[skill(), Raw { method: 77, ..stored("voice/b", b"") }]), "method 77"),
        ("cut deflate stream", zip(&[skill(), cut_stream]), "cut off"),
        ("bytes behind the stream", zip(&[skill(), padded_stream]), "cut off"),
        (
            "two names",
            zip(&[skill(), Raw { local_name: Some(b"voice/c".to_vec()), ..stored("voice/b", b"") }]),
            "different names",
        ),
        (
            "unicode name",
            zip(&[skill(), Raw { extra: extra_block(0x7075, b"\x01....voice/c"), ..stored("voice/b", b"") }]),
            "different names",
        ),
        (
            "overlap",
            zip(&[skill(), Raw { offset: Some(0), name: b"voice/SKILL.md".to_vec(), ..skill() }]),
            "overlaps",
        ),
        ("split", zip_with(&[skill()], &[], |end| end[4] = 1), "split"),
        ("zip64", zip_with(&[skill()], &[], |end| end[8..12].copy_from_slice(&[255; 4])), "zip64"),
        ("trailing data", [&good[..], b"tail"].concat(), "not a plain zip"),
        ("directory with content", zip(&[skill(), stored("voice/d/", b"data")]), "directory"),
        ("directory outside", zip_with(&[skill()], &[], |end| end[16] = 255), "central directory"),
    ];
    for (what, bytes, says) in cases {
        let error = refused(&bytes);
        assert_eq!(error.code, Code::F0306, "{what}: {error:?}");
        assert!(error.message.en.contains(says), "{what}: {}", error.message.en);
    }
}

#[test]
fn polyglots_are_refused() {
    let good = zip(&[skill()]);
    // Glued in front without touching offsets, and with offsets made to fit.
    let glued = [b"#!/bin/sh\n", &good[..]].concat();
    let fitted = zip_with(&[skill()], b"GIF89a", |_| {});
    let gap = zip(&[Raw { after: b"hidden".to_vec(), ..skill() }, stored("voice/b", b"")]);
    let last_gap = zip(&[Raw { after: b"hidden".to_vec(), ..skill() }]);
    let comment = zip_with(&[skill()], &[], |end| {
        let fake = end.clone();
        end[20..22].copy_from_slice(&[22, 0]);
        end.extend(fake);
    });
    for (what, bytes) in [
        ("glued", glued),
        ("fitted", fitted),
        ("gap", gap),
        ("gap at the end", last_gap),
        ("two ends", comment),
    ] {
        let error = refused(&bytes);
        assert!(
            error.code == Code::F0306 && error.message.en.contains("not a plain zip"),
            "{what}: {error:?}"
        );
    }
}

#[test]
fn every_truncation_is_refused() {
    let good = zip(&[skill(), stored("voice/b", b"bbbb")]);
    for length in 0..good.len() {
        assert_eq!(refused(&good[..length]).code, Code::F0306, "{length}");
    }
}

#[test]
fn every_flipped_byte_gives_a_bundle_or_an_error() {
    let good = zip(&[skill(), stored("voice/b", b"bbbb")]);
    for at in 0..good.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut bytes = good.clone();
            bytes[at] = value;
            if let Ok(bundle) = read_zip("x.zip", &bytes) {
                assert!(!bundle.skills.is_empty());
            }
        }
    }
}

#[test]
fn other_formats_are_named() {
    for (bytes, kind) in
        [(&b"\x1f\x8b\x08"[..], "gzip"), (b"7z\xbc\xaf\x27\x1c", "7z"), (b"Rar!\x1a\x07\0", "rar")]
    {
        let error = refused(bytes);
        assert!(error.message.en.contains(kind), "{}", error.message.en);
    }
    assert_eq!(refused(b"").code, Code::F0306);
}

#[test]
fn streamed_archives_and_comments_are_accepted() {
    let streamed = Raw { flags: 1 << 3, after: vec![7; 16], ..skill() };
    let bytes = zip_with(&[streamed, stored("voice/b", b"")], &[], |end| {
        end[20] = 5;
        end.extend(b"hello");
    });
    assert!(read_zip("x.zip", &bytes).is_ok());
}

#[test]
fn nested_archives_stay_closed() {
    let inner = zip(&[stored("../../evil", b"x")]);
    let bundle = read_zip("x.zip", &zip(&[skill(), stored("voice/assets/inner.zip", &inner)])).unwrap();
    assert_eq!(bundle.skills[0].files[&RelPath::parse("assets/inner.zip").unwrap()].bytes, inner);
}

#[test]
fn clutter_of_file_managers_is_left_out_with_a_warning() {
    let bundle = read_zip(
        "x.zip",
        &zip(&[
            skill(),
            stored("__MACOSX/voice/._SKILL.md", b"x"),
            stored("voice/.DS_Store", b"x"),
            stored("voice/.git/config", b""),
        ]),
    )
    .unwrap();
    assert_eq!(bundle.skills[0].files.len(), 1);
    assert!(bundle.warnings[0].message.en.contains("skipped 3"));
}

#[test]
fn many_problems_are_reported_but_not_all_five_hundred() {
    let entries: Vec<_> = (0..400).map(|n| stored(format!("../{n}"), b"")).collect();
    assert_eq!(read_zip("x.zip", &zip(&entries)).unwrap_err().len(), 20);
}

#[test]
fn another_reader_agrees_with_what_we_write() {
    let files = files(&[("SKILL.md", SKILL), ("参考/说明.md", "中文".as_bytes()), ("data.bin", &[0; 5000])]);
    let bytes = write_zip("voice", &files);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(&bytes)).unwrap();
    assert_eq!(archive.len(), 3);
    for (path, expected) in &files {
        let mut entry = archive.by_name(&format!("voice/{path}")).unwrap();
        let mut found = Vec::new();
        entry.read_to_end(&mut found).unwrap();
        assert_eq!(found, expected.bytes);
        assert_eq!(entry.unix_mode(), Some(0o100_644));
    }
}

#[test]
fn what_another_writer_wrote_is_read() {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().unix_permissions(0o755);
    writer.add_directory("voice", options).unwrap();
    for (name, bytes) in [("voice/SKILL.md", SKILL), ("voice/run.sh", b"#!/bin/sh")] {
        writer.start_file(name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    let bundle = read_zip("x.zip", &bytes).unwrap();
    assert_eq!(bundle.skills[0].files.len(), 2);
}

#[test]
fn a_dense_export_can_be_imported() {
    let files = files(&[("SKILL.md", SKILL), ("zeros", &vec![0; 3 << 20])]);
    assert!(read_zip("x.zip", &write_zip("voice", &files)).is_ok());
}

proptest! {
    #![proptest_config(crate::fixture::one_in(32))]

    #[test]
    fn export_then_import_gives_the_same_files(
        extra in prop::collection::btree_map("[a-d]{1,3}(/[a-d语]{1,3}\\.md)?", prop::collection::vec(any::<u8>(), 0..300), 0..8),
        executable in any::<bool>(),
    ) {
        let mut twins = Twins::default();
        let mut content = files(&[("SKILL.md", SKILL)]);
        for (path, bytes) in extra {
            let path = RelPath::parse(&path).unwrap();
            if twins.file(&path).is_ok() {
                content.insert(path, BundledFile { bytes, executable });
            }
        }
        let bytes = write_zip("voice", &content);
        prop_assert_eq!(&bytes, &write_zip("voice", &content));
        let bundle = read_zip("voice.zip", &bytes).unwrap();
        let expected = BundledSkill { dir_name: "voice".into(), files: content };
        prop_assert_eq!(bundle.skills[0].digest(), expected.digest());
        prop_assert_eq!(&bundle.skills[0], &expected);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = read_zip("x", &bytes);
        let _ = read_zip("x", &[b"PK\x03\x04", &bytes[..], b"PK\x05\x06", &bytes[..]].concat());
    }

    #[test]
    fn damaged_archives_never_panic(edits in prop::collection::vec((0usize..400, any::<u8>()), 1..12)) {
        let mut bytes = zip(&[skill(), stored("voice/b", b"bbbb"), deflated("voice/c/d", SKILL)]);
        for (at, value) in edits {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        let _ = read_zip("x", &bytes);
    }
}
