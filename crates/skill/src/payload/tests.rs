//! Payloads as people and hostile people write them.

use super::*;
use crate::archive::write_zip;
use proptest::prelude::*;
use serde_json::json;

const SKILL: &str = "---\nname: voice\ndescription: Keeps a voice.\n---\nBody\n";

fn inline_item(name: &str, files: &[(&str, &str)]) -> Value {
    let files: Vec<_> = files
        .iter()
        .map(|(path, content)| json!({"path": path, "encoding": "utf8", "content": content}))
        .collect();
    json!({"bundleFormat": "inline-files-v1", "name": name, "files": files})
}

fn archive_item(name: &str, bytes: &[u8]) -> Value {
    let sha256 = digest_bytes(bytes).to_string().replace("sha256:", "");
    let content = base64::engine::general_purpose::STANDARD.encode(bytes);
    json!({"bundleFormat": "archive-base64-v1", "name": name, "fileName": "x.zip", "contentBase64": content, "sha256": sha256})
}

fn payload(items: &[Value]) -> Value {
    json!({"version": 1, "items": items})
}

fn read_value(value: &Value) -> Result<Bundle, Vec<Diagnostic>> {
    read("card.json", value.to_string().as_bytes())
}

fn zipped() -> Vec<u8> {
    let file = BundledFile { bytes: SKILL.into(), executable: false };
    write_zip("voice", &BTreeMap::from([(RelPath::parse("SKILL.md").unwrap(), file)]))
}

#[test]
fn both_formats_bring_the_same_skill() {
    let inline = read_value(&payload(&[inline_item("voice", &[("SKILL.md", SKILL)])])).unwrap();
    let archive = read_value(&payload(&[archive_item("voice", &zipped())])).unwrap();
    assert_eq!(inline.skills, archive.skills);
    assert_eq!(inline.skills[0].dir_name, "voice");
}

#[test]
fn a_card_carries_its_payload_in_extensions() {
    let payload = payload(&[inline_item("voice", &[("SKILL.md", SKILL)])]);
    for card in [
        json!({"spec": "chara_card_v2", "data": {"name": "林黛玉", "extensions": {"depth": {}, "skills": payload}}}),
        json!({"temperature": 1, "extensions": {"some/tool": payload}}),
    ] {
        assert_eq!(read_value(&card).unwrap().skills.len(), 1, "{card}");
    }
}

#[test]
fn a_card_picture_carries_its_payload() {
    let card =
        json!({"data": {"extensions": {"skills": payload(&[inline_item("voice", &[("SKILL.md", SKILL)])])}}});
    let encoded = base64::engine::general_purpose::STANDARD.encode(card.to_string());
    let chunk = |kind: &[u8], data: &[u8]| {
        [&u32::try_from(data.len()).unwrap().to_be_bytes()[..], kind, data, &[0; 4]].concat()
    };
    for data in [
        chunk(b"tEXt", &[b"chara\0", encoded.as_bytes()].concat()),
        chunk(b"iTXt", &[b"ccv3\0\0\0\0\0", encoded.as_bytes()].concat()),
    ] {
        let png = [b"\x89PNG\r\n\x1a\n", &chunk(b"IHDR", &[0; 13])[..], &data, &chunk(b"IEND", b"")].concat();
        assert_eq!(read("ada.png", &png).unwrap().skills[0].dir_name, "voice");
        assert_eq!(read("ada.png", &png[..png.len() / 2]).unwrap_err()[0].code, Code::F0312);
    }
}

#[test]
fn each_mistake_names_its_place() {
    let good = || inline_item("voice", &[("SKILL.md", SKILL)]);
    let with = |pointer: &str, value: Value| {
        let mut document = payload(&[good()]);
        *document.pointer_mut(pointer).unwrap() = value;
        document
    };
    let mut wrong_sha = archive_item("voice", &zipped());
    wrong_sha["sha256"] = json!("00");
    let mut not_base64 = archive_item("voice", &zipped());
    not_base64["contentBase64"] = json!("%%%");
    let cases = [
        (with("/version", json!(2)), Code::F0312, "/version"),
        (with("/version", json!("1")), Code::F0312, "/version"),
        (with("/items", json!({})), Code::F0312, "/items"),
        (with("/items/0", json!(7)), Code::F0312, "/items/0/name"),
        (with("/items/0/name", json!("../x")), Code::F0301, "/items/0/name"),
        (with("/items/0/name", json!("a/b")), Code::F0301, "/items/0/name"),
        (with("/items/0/bundleFormat", json!("tar-v9")), Code::F0312, "/items/0/bundleFormat"),
        (with("/items/0/files", json!("x")), Code::F0312, "/items/0/files"),
        (with("/items/0/files", json!([])), Code::F0305, "/items/0/files"),
        (with("/items/0/files/0/path", json!("../../x")), Code::F0301, "/items/0/files/0/path"),
        (with("/items/0/files/0/path", json!("CON.md")), Code::F0308, "/items/0/files/0/path"),
        (with("/items/0/files/0/encoding", json!("utf16")), Code::F0312, "/items/0/files/0/encoding"),
        (with("/items/0/files/0/content", json!(null)), Code::F0312, "/items/0/files/0/content"),
        (payload(&[good(), good()]), Code::F0304, "/items/1/name"),
        (
            payload(&[inline_item("v", &[("SKILL.md", ""), ("skill.md", "")])]),
            Code::F0304,
            "/items/0/files/1/path",
        ),
        (payload(&[wrong_sha]), Code::F0309, "/items/0/sha256"),
        (payload(&[not_base64]), Code::F0312, "/items/0/contentBase64"),
    ];
    for (document, code, pointer) in cases {
        let errors = read_value(&document).unwrap_err();
        assert_eq!((errors[0].code, errors[0].field.as_deref()), (code, Some(pointer)), "{document}");
    }
    assert_eq!(read_value(&json!({"a": 1})).unwrap_err()[0].code, Code::F0312);
    assert_eq!(read_value(&payload(&[])).unwrap_err()[0].code, Code::F0305);
    assert_eq!(read("x.json", b"{").unwrap_err()[0].code, Code::F0312);
    assert_eq!(read("x.json", "[".repeat(100_000).as_bytes()).unwrap_err()[0].code, Code::F0312);
}

#[test]
fn items_share_one_limit() {
    let most = crate::archive::MAX_ENTRIES;
    let many: Vec<_> = (0..=most).map(|n| inline_item(&format!("s{n}"), &[("SKILL.md", SKILL)])).collect();
    assert_eq!(read_value(&payload(&many)).unwrap_err()[0].code, Code::F0303);
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read("x", &bytes);
        let _ = read("x.png", &[b"\x89PNG\r\n\x1a\n", &bytes[..]].concat());
    }
}
