//! Documents as people make them.

use super::make::{docx, ods, odt, page, paragraph, pdf, pptx, scan, xls, xlsx};
use super::*;

#[test]
fn a_word_document_keeps_headings_lists_tables_links_and_notes() {
    let body = [
        r#"<w:p><w:pPr><w:pStyle w:val="1"/></w:pPr><w:r><w:t>第一章</w:t></w:r></w:p>"#,
        r#"<w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>Second &lt;level&gt;</w:t></w:r></w:p>"#,
        r#"<w:p><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">Plain </w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>text</w:t><w:footnoteReference w:id="2"/></w:r>
        <w:hyperlink r:id="rId1"><w:r><w:t>there</w:t></w:r></w:hyperlink></w:p>"#,
        r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="5"/></w:numPr></w:pPr><w:r><w:t>one</w:t></w:r></w:p>"#,
        r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="5"/></w:numPr></w:pPr><w:r><w:t>below</w:t></w:r></w:p>"#,
        r#"<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="5"/></w:numPr></w:pPr><w:r><w:t>two</w:t></w:r></w:p>"#,
        r#"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr><w:p><w:r><w:t>Head</w:t></w:r></w:p></w:tc></w:tr>
        <w:tr><w:tc><w:p><w:r><w:t>a|b</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p><w:p><w:r><w:t>y</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"#,
        r#"<w:p><w:r><w:drawing><wp:docPr id="1" descr="A map"/></w:drawing></w:r></w:p>"#,
    ]
    .concat();
    let text = shown(&docx(&body), "report.docx");
    assert_eq!(
        text,
        "document: DOCX text document\ntitle: 年度报告 & Plan\nauthor: 张伟\n\n# 第一章\n\n## Second <level>\n\n\
         Plain text[^2][there](https://example.org/)\n\n1. one\n  - below\n2. two\n\n\
         | Head |  |\n|---|---|\n| a\\|b | x<br>y |\n\n[picture: A map]\n\n\n[^2]: See the appendix.\n"
    );
}

#[test]
fn pages_of_a_word_document_are_those_its_program_left_in_it() {
    let body = [
        paragraph("first"),
        r#"<w:p><w:r><w:t>end of first</w:t><w:br w:type="page"/></w:r></w:p>"#.to_owned(),
        r#"<w:p><w:r><w:lastRenderedPageBreak/><w:t>second</w:t></w:r></w:p>"#.to_owned(),
        r#"<w:p><w:r><w:t>still second</w:t><w:lastRenderedPageBreak/></w:r></w:p>"#.to_owned(),
        paragraph("third"),
    ]
    .concat();
    let text = try_read(&docx(&body), "a.docx", &pages("2")).unwrap();
    assert!(text.contains("--- page 2 ---") && text.contains("still second"), "{text}");
    assert!(!text.contains("first") && !text.contains("third"), "{text}");
    let told = try_read(&docx(&body), "a.docx", &pages("7")).unwrap_err().to_string();
    assert!(told.contains("only 3 pages"), "{told}");
}

#[test]
fn a_workbook_shows_what_people_see() {
    let data = r#"<dimension ref="A1:E9"/><sheetData>
      <row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>in</t></is></c></row>
      <row r="3"><c r="A3" s="1"><v>45356</v></c><c r="B3" s="3"><v>45356</v></c><c r="C3" s="2"><v>0.1234</v></c><c r="E3" s="4"><v>1234.5</v></c></row>
      <row r="4"><c r="A4"><f>SUM(B1:B2)</f><v>0.30000000000000004</v></c><c r="B4" t="str"><f>x</f><v>joined</v></c><c r="C4" t="b"><v>1</v></c><c r="D4" t="e"><v>#DIV/0!</v></c><c r="E4"><f>A1</f></c></row>
      <row r="9"><c r="A9" t="s"><v>2</v></c><c r="B9" s="1"/></row></sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells>"#;
    let book = xlsx(&[("销售", data.to_owned()), ("Two", String::new())]);
    let text = shown(&book, "any.name");
    assert_eq!(
        text,
        "document: XLSX workbook, 2 sheets\ntitle: 年度报告 & Plan\nauthor: 张伟\nsheets: 销售, Two\n\n## Sheet 1 of 2: 销售\n\n\
         cells A1:E9; 4 rows with content\n\n| | A | B | C | D | E |\n|---|---|---|---|---|---|\n\
         | 1 | name | 北京 | in |  |  |\n| 3 | 2024-03-05 | 2024年3月5日 | 12.34% |  | 1,234.50 |\n\
         | 4 | 0.3 | joined | TRUE | #DIV/0! | =A1 (not computed) |\n| 9 | a\\|b<br>c |  |  |  |  |\n\n\
         Merged cells (the value stands in the first): A1:B1\n\n## Sheet 2 of 2: Two\n\nempty\n"
    );
    let part = try_read(&book, "b.xlsx", &range("B2:C3")).unwrap();
    assert!(part.contains("| 3 | 2024年3月5日 | 12.34% |") && !part.contains("joined"), "{part}");
    let unknown = try_read(&book, "b.xlsx", &sheet("Three")).unwrap_err().to_string();
    assert_eq!(unknown, "there is no sheet `Three`; there are 1 `销售`, 2 `Two`");
    assert!(try_read(&book, "b.xlsx", &sheet("2")).unwrap().contains("Sheet 2 of 2: Two"));
    assert!(try_read(&book, "b.xlsx", &pages("2")).unwrap_err().to_string().contains("`range`"));
}

#[test]
fn a_long_sheet_shows_its_beginning_and_says_how_to_go_on() {
    let mut rows = String::from("<sheetData>");
    for row in 1..=5000 {
        rows.push_str(&format!(
            r#"<row r="{row}"><c r="A{row}"><v>{row}</v></c><c r="B{row}"><v>{}</v></c></row>"#,
            row * 2
        ));
    }
    let book = xlsx(&[("Long", rows + "</sheetData>")]);
    let text = shown(&book, "l.xlsx");
    assert!(text.contains("| 200 | 200 | 400 |") && !text.contains("\n| 201 |"), "{text}");
    assert!(text.contains("cells A1:B5000; 5000 rows"), "{text}");
    assert!(text.contains(r#"`range`: "A201:B1200""#), "{text}");
    let more = try_read(&book, "l.xlsx", &range("A201:B1200")).unwrap();
    assert!(
        more.contains("| 201 |") && more.contains("| 1200 | 1200 | 2400 |") && !more.contains("\n| 1201 |")
    );
    let few = try_read(&book, "l.xlsx", &Wanted { max_rows: Some(3), ..Wanted::default() }).unwrap();
    assert!(few.contains("| 3 | 3 | 6 |") && !few.contains("\n| 4 |"), "{few}");
}

#[test]
fn a_presentation_has_titles_text_tables_and_notes_in_its_order() {
    let text = shown(&pptx(), "talk.pptx");
    assert_eq!(
        text,
        "document: PPTX presentation, 2 slides\n\n## Slide 1 of 2: 季度 Results\n\n- Revenue up\n  - by 12%\n\n\
         [picture: A chart of sales]\n\nNotes: Say it slowly.\n\n## Slide 2 of 2\n\n| Q | Sum |\n|---|---|\n| 1 | 5 |\n"
    );
    let second = try_read(&pptx(), "talk.pptx", &pages("2")).unwrap();
    assert!(second.contains("| 1 | 5 |") && !second.contains("Revenue"));
    assert!(try_read(&pptx(), "t", &pages("3")).unwrap_err().to_string().contains("only 2 slides"));
}

#[test]
fn open_documents_are_read_too() {
    let text = shown(&ods(), "a.ods");
    assert!(text.contains("sheets: 数据, Empty"), "{text}");
    assert!(text.contains("| 2 | 05.03.24 | 50 % | 50 % |\n| 3 | 05.03.24 | 50 % | 50 % |"), "{text}");
    assert!(text.contains("Merged cells (the value stands in the first): A1:B1"), "{text}");
    let text = shown(&odt(), "a.odt");
    assert!(text.contains("title: Open"), "{text}");
    assert!(text.contains("## 第一章\n\nOne  two.\n\n- item\n\n| a | b |"), "{text}");
}

#[test]
fn values_between_separators_are_a_table_in_any_encoding() {
    let plain = "姓名,城市,备注\n张伟,\"北京, 市区\",\"他说 \"\"好\"\"\n第二行\"\n李娜,上海,\n";
    let (gb, _, _) = encoding_rs::GB18030.encode(plain);
    for (bytes, name) in [(plain.as_bytes(), "UTF-8"), (&gb, "gb18030")] {
        let text = shown(bytes, "a.csv");
        assert!(text.contains(&format!("encoded as {name}")), "{text}");
        assert!(
            text.contains("| 2 | 张伟 | 北京, 市区 | 他说 \"好\"<br>第二行 |\n| 3 | 李娜 | 上海 |  |"),
            "{text}"
        );
    }
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("a;b\r\n1;2".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let text = shown(&wide, "a.csv");
    assert!(text.contains("separated by `;`") && text.contains("| 2 | 1 | 2 |"), "{text}");
    assert!(shown(b"a\tb,c\n", "a.tsv").contains("| 1 | a | b,c |"));
}

#[test]
fn a_workbook_of_excel_97_is_read() {
    let text = shown(&xls(), "old.xls");
    assert!(text.contains("sheets: 表1"), "{text}");
    assert!(text.contains("| 1 | 北京市 | 2024-03-05 |\n| 2 | 12.34 | ok |"), "{text}");
}

#[test]
fn rich_text_gives_its_words() {
    let rtf = br"{\rtf1\ansi\ansicpg936{\fonttbl{\f0 Arial;}}{\*\generator x}Hello\par \'b1\'b1\'be\'a9 \u20013?\u25991?{\b bold}\par}";
    assert_eq!(shown(rtf, "a.rtf"), "document: RTF text\n\nHello\n\n北京 中文bold\n");
}

#[test]
fn a_pdf_is_read_page_by_page_with_its_properties() {
    let file = pdf(&[
        page(&["Hello, world.", "A second line."]),
        "BT /F2 14 Tf 60 700 Td <4F60597D4E16754C> Tj ET BT /F1 10 Tf 60 640 Td (The last page.) Tj ET"
            .to_owned(),
    ]);
    let text = shown(&file, "a.pdf");
    assert!(
        text.starts_with(
            "document: PDF, 2 pages\ntitle: 年度报告\nauthor: A. Writer\n\n--- page 1 of 2 ---\n"
        ),
        "{text}"
    );
    assert!(text.contains("Hello, world.\nA second line.\n"), "{text}");
    assert!(text.contains("--- page 2 of 2 ---") && text.contains("你好世界"), "{text}");
    let second = try_read(&file, "a.pdf", &pages("2-9")).unwrap();
    assert!(second.contains("The last page.") && !second.contains("Hello"), "{second}");
    assert!(try_read(&file, "a.pdf", &pages("3")).unwrap_err().to_string().contains("only 2 pages"));
}

#[test]
fn a_long_pdf_shows_its_beginning_and_says_how_to_go_on() {
    let line = "A line of text that is as long as lines of text usually are in a report.";
    let file = pdf(&vec![page(&[line; 50]); 22]);
    let text = shown(&file, "a.pdf");
    assert!(text.len() < 80_000 && text.contains("Read on with `pages`: \""), "{}", text.len());
    let all = try_read(&file, "a.pdf", &pages("all")).unwrap();
    assert_eq!(all.matches(line).count(), 1100);
}

#[test]
fn a_scan_has_no_text_and_gives_its_pictures() {
    let (width, height) = (200, 100);
    let gray: Vec<u8> = (0..width * height).map(|at| if at % 7 == 0 { 0 } else { 255 }).collect();
    let file = scan(width, height, &gray);
    let told = told(&file, "scan.pdf");
    assert!(
        told.contains("no text layer") && told.contains("`image-ocr`") && told.contains("\"1\""),
        "{told}"
    );
    let never = || false;
    let watch = Watch::new(&never, Duration::from_secs(60));
    let images = crate::office::page_images(&mut Cursor::new(&file), None, &watch).unwrap();
    assert_eq!(images.len(), 1);
    assert!(images[0].bytes.ends_with(&gray) && images[0].bytes.starts_with(b"P5\n200 100\n255\n"));
}
