//! Documents and pictures through the tools, with the real `tesseract`.

use super::*;
use std::process::Command;

/// A PDF of one page that says this.
fn pdf(text: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 60 700 Td ({text}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    assembled(&objects.map(String::into_bytes))
}

/// A PDF of one page with this gray picture on it.
fn scan(picture: &Gray) -> Vec<u8> {
    let place = "q 595 0 0 200 0 500 cm /I Do Q";
    let mut image = format!(
        "<< /Subtype /Image /Width {} /Height {} /ColorSpace /DeviceGray /BitsPerComponent 8 /Length {} >>\nstream\n",
        picture.width,
        picture.height,
        picture.ink.len()
    )
    .into_bytes();
    image.extend(&picture.ink);
    image.extend(b"\nendstream");
    assembled(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>"
            .to_vec(),
        format!("<< /Length {} >>\nstream\n{place}\nendstream", place.len()).into_bytes(),
        image,
    ])
}

/// Readers find the objects themselves when there is no table of them.
fn assembled(objects: &[Vec<u8>]) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    for (at, object) in objects.iter().enumerate() {
        file.extend(format!("{} 0 obj\n", at + 1).bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    file.extend(b"trailer << /Root 1 0 R >>\n%%EOF");
    file
}

struct Gray {
    width: usize,
    height: usize,
    ink: Vec<u8>,
}

/// Capital letters drawn with strokes on a grid of five by seven, large and black on white.
fn drawn(text: &str) -> Gray {
    let letter = |c: char| -> [&str; 7] {
        match c {
            'H' => ["X...X", "X...X", "X...X", "XXXXX", "X...X", "X...X", "X...X"],
            'E' => ["XXXXX", "X....", "X....", "XXXX.", "X....", "X....", "XXXXX"],
            'L' => ["X....", "X....", "X....", "X....", "X....", "X....", "XXXXX"],
            'T' => ["XXXXX", "..X..", "..X..", "..X..", "..X..", "..X..", "..X.."],
            'F' => ["XXXXX", "X....", "X....", "XXXX.", "X....", "X....", "X...."],
            _ => ["....."; 7],
        }
    };
    let (scale, margin) = (8, 60);
    let (width, height) = (margin * 2 + text.len() * 6 * scale, margin * 2 + 7 * scale);
    let mut ink = vec![255; width * height];
    for (at, c) in text.chars().enumerate() {
        for (y, row) in letter(c).iter().enumerate() {
            for (x, _) in row.bytes().enumerate().filter(|(_, dot)| *dot == b'X') {
                for (dy, dx) in (0..scale).flat_map(|dy| (0..scale).map(move |dx| (dy, dx))) {
                    ink[(margin + y * scale + dy) * width + margin + (at * 6 + x) * scale + dx] = 0;
                }
            }
        }
    }
    Gray { width, height, ink }
}

/// As the simplest TIFF there is: one strip, not packed.
fn tiff(picture: &Gray) -> Vec<u8> {
    let entries: [(u16, u16, u32); 9] = [
        (256, 4, picture.width as u32),
        (257, 4, picture.height as u32),
        (258, 3, 8),
        (259, 3, 1),
        (262, 3, 1),
        (273, 4, 8 + 2 + 9 * 12 + 4),
        (277, 3, 1),
        (278, 4, picture.height as u32),
        (279, 4, picture.ink.len() as u32),
    ];
    let mut file = b"II\x2a\x00\x08\x00\x00\x00".to_vec();
    file.extend(9u16.to_le_bytes());
    for (tag, kind, value) in entries {
        file.extend(tag.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(1u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    file.extend(&picture.ink);
    file
}

#[tokio::test]
async fn a_document_is_read_as_markdown_and_a_long_one_is_kept_whole() {
    let project = Project::new().read_only();
    project.put("a/report.pdf", pdf("Hello from a page."));
    let text = project.done("office-read", json!({"path": "a/report.pdf", "pages": 1})).await;
    assert!(text.contains("--- page 1 of 1 ---\n\nHello from a page."), "{text}");
    project.put(
        "t.csv",
        "姓名,数\n".to_owned() + &"张伟,一些比较长的备注文字一些比较长的备注文字\n".repeat(2000),
    );
    let outcome = project.call("office-read", json!({"path": "t.csv", "max_rows": "2000"})).await;
    assert!(
        outcome.truncated
            && !outcome.is_error
            && outcome.content.len() <= project.context.limits.inline_bytes
    );
    assert!(outcome.content.contains("Read on with"), "{}", outcome.content);
    assert!(String::from_utf8(outcome.full.unwrap()).unwrap().contains("| 1500 | 张伟 |"));
}

#[tokio::test]
async fn documents_that_cannot_be_read_are_named_with_what_to_do() {
    let project = Project::new();
    project.put("empty.pdf", "");
    project.put("broken.pdf", "%PDF-1.7 no more");
    project.put("plain.docx", "just text");
    for (path, expected) in [
        ("empty.pdf", "`empty.pdf`: the file is empty"),
        ("broken.pdf", "damaged"),
        ("plain.docx", "use the tool `Read`"),
        ("../outside/secret.txt", "outside the project"),
        ("none.pdf", "does not exist"),
        (".", "is a directory"),
    ] {
        let told = project.refused("office-read", json!({"path": path})).await;
        assert!(told.contains(expected), "{path}: {told}");
        assert!(!told.contains("secret-content"));
    }
    std::os::unix::fs::symlink(project.outside().join("secret.txt"), project.path("link.csv")).unwrap();
    for tool in ["office-read", "image-ocr"] {
        let told = project.refused(tool, json!({"path": "link.csv"})).await;
        assert!(told.contains("outside the project"), "{told}");
    }
}

#[tokio::test]
async fn letters_in_pictures_and_in_scans_are_read() {
    let works =
        Command::new("tesseract").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(works, "this test needs tesseract: `cargo xtask test` installs it (apt install tesseract-ocr)");
    let project = Project::new();
    let picture = drawn("HELLO TEETH".replace('O', "L").as_str());
    project.put("picture.tiff", tiff(&picture));
    project.put("scan.pdf", scan(&picture));
    let told = project.refused("office-read", json!({"path": "scan.pdf"})).await;
    assert!(told.contains("no text layer") && told.contains("`image-ocr`"), "{told}");
    for path in ["picture.tiff", "scan.pdf"] {
        let text = project.done("image-ocr", json!({"path": path, "language": "eng"})).await;
        assert!(text.contains("TEETH"), "{path}: {text}");
    }
    assert!(
        project.done("image-ocr", json!({"path": "scan.pdf", "pages": "1"})).await.contains("--- page 1 ---")
    );
    assert!(
        project.done("image-ocr", json!({"path": "picture.tiff"})).await.contains("language: eng+chi_sim")
    );
}

#[tokio::test]
async fn pictures_that_cannot_be_read_are_named_with_what_to_do() {
    let project = Project::new();
    project.put("broken.png", b"\x89PNG\r\n\x1a\nnothing");
    project.put("text.txt", "words");
    project.put("page.pdf", pdf("text"));
    project.put("picture.tiff", tiff(&drawn("HELL")));
    for (arguments, expected) in [
        (json!({"path": "broken.png"}), "tesseract cannot read this picture"),
        (json!({"path": "text.txt"}), "is not a picture"),
        (json!({"path": "page.pdf"}), "use the tool `office-read`"),
        (json!({"path": "picture.tiff", "pages": "1"}), "only for a PDF"),
        (json!({"path": "picture.tiff", "language": "tlh"}), "no language `tlh`; installed are"),
        (json!({"path": "picture.tiff", "language": "--help"}), "no language `--help`"),
    ] {
        let told = project.refused("image-ocr", arguments.clone()).await;
        assert!(told.contains(expected), "{arguments}: {told}");
    }
}

#[tokio::test]
async fn without_tesseract_the_package_is_named() {
    let mut project = Project::new();
    project.context.env = vec![("PATH".into(), project.path("nothing").into())];
    project.put("picture.tiff", tiff(&drawn("HELL")));
    let told = project.refused("image-ocr", json!({"path": "picture.tiff"})).await;
    assert!(told.contains("apt install tesseract-ocr tesseract-ocr-chi-sim"), "{told}");
}
