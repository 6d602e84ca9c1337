//! Small real documents, made on the spot.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use zip::write::SimpleFileOptions;

pub fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let bytes: Vec<(&str, &[u8])> = parts.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    package_of(&bytes)
}

pub fn package_of(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in parts {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

const CORE: &str = r#"<?xml version="1.0" encoding="UTF-8"?><cp:coreProperties xmlns:cp="c" xmlns:dc="d">
<dc:title>年度报告 &amp; Plan</dc:title><dc:creator>张伟</dc:creator></cp:coreProperties>"#;

/// A Word document with this body.
pub fn docx(body: &str) -> Vec<u8> {
    let document = format!(
        r#"<?xml version="1.0"?><w:document xmlns:w="w" xmlns:r="r" xmlns:wp="wp" xmlns:mc="mc"><w:body>{body}</w:body></w:document>"#
    );
    package(&[
        ("[Content_Types].xml", "<Types/>"),
        ("word/document.xml", &document),
        (
            "word/_rels/document.xml.rels",
            r#"<Relationships><Relationship Id="rId1" Target="https://example.org/" TargetMode="External"/></Relationships>"#,
        ),
        (
            "word/styles.xml",
            r#"<w:styles xmlns:w="w"><w:style w:styleId="1"><w:name w:val="heading 1"/></w:style>
            <w:style w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="Two"/></w:style>
            <w:style w:styleId="Two"><w:name w:val="x"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>"#,
        ),
        (
            "word/numbering.xml",
            r#"<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>
            <w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
            <w:num w:numId="5"><w:abstractNumId w:val="0"/></w:num></w:numbering>"#,
        ),
        (
            "word/footnotes.xml",
            r#"<w:footnotes xmlns:w="w"><w:footnote w:id="0" w:type="separator"><w:p/></w:footnote>
            <w:footnote w:id="2"><w:p><w:r><w:t>See the appendix.</w:t></w:r></w:p></w:footnote></w:footnotes>"#,
        ),
        ("docProps/core.xml", CORE),
    ])
}

pub fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// A workbook of these sheets: name and the rows of its data.
pub fn xlsx(sheets: &[(&str, String)]) -> Vec<u8> {
    let (mut book, mut links, mut parts) = (String::new(), String::new(), Vec::new());
    for (at, (name, data)) in sheets.iter().enumerate() {
        let _ = write!(book, r#"<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>"#);
        let _ = write!(links, r#"<Relationship Id="r{at}" Target="worksheets/s{at}.xml"/>"#);
        let sheet = format!(r#"<worksheet xmlns="m">{data}</worksheet>"#);
        parts.push((format!("xl/worksheets/s{at}.xml"), sheet));
    }
    let book = format!(r#"<workbook xmlns:r="r"><sheets>{book}</sheets></workbook>"#);
    let links = format!("<Relationships>{links}</Relationships>");
    let mut all = vec![
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", &book),
        ("xl/_rels/workbook.xml.rels", &links),
        ("docProps/core.xml", CORE),
        (
            "xl/styles.xml",
            r#"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m&quot;月&quot;d&quot;日&quot;"/></numFmts>
            <cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>
            <cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="4"/></cellXfs></styleSheet>"#,
        ),
        (
            "xl/sharedStrings.xml",
            r#"<sst><si><t>name</t></si><si><r><t>北</t></r><r><t>京</t></r><rPh><t>ignored</t></rPh></si><si><t xml:space="preserve">a|b
c</t></si></sst>"#,
        ),
    ];
    all.extend(parts.iter().map(|(name, text)| (name.as_str(), text.as_str())));
    package(&all)
}

/// A presentation of two slides, shown in the order opposite to their numbers.
pub fn pptx() -> Vec<u8> {
    let shape = |kind: &str, text: &str| {
        format!(
            r#"<p:sp><p:nvSpPr><p:cNvPr id="1" name="n"/><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody>{text}</p:txBody></p:sp>"#
        )
    };
    let line =
        |level: u8, text: &str| format!(r#"<a:p><a:pPr lvl="{level}"/><a:r><a:t>{text}</a:t></a:r></a:p>"#);
    let first = format!(
        r#"<p:sld xmlns:p="p" xmlns:a="a">{}{}{}<p:pic><p:nvPicPr><p:cNvPr id="9" name="x" descr="A chart of sales"/></p:nvPicPr></p:pic></p:sld>"#,
        shape("title", &line(0, "季度 Results")),
        shape("body", &(line(0, "Revenue up") + &line(1, "by 12%"))),
        shape("sldNum", &line(0, "99")),
    );
    let second = r#"<p:sld xmlns:p="p" xmlns:a="a"><p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>Q</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>Sum</a:t></a:r></a:p></a:txBody></a:tc></a:tr>
        <a:tr><a:tc><a:txBody><a:p><a:r><a:t>1</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>5</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame></p:sld>"#;
    let notes = format!(
        r#"<p:notes xmlns:p="p" xmlns:a="a">{}{}</p:notes>"#,
        shape("sldImg", ""),
        shape("body", &line(0, "Say it slowly."))
    );
    package(&[
        (
            "ppt/presentation.xml",
            r#"<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>"#,
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            r#"<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>"#,
        ),
        ("ppt/slides/slide2.xml", &first),
        ("ppt/slides/slide1.xml", second),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            r#"<Relationships><Relationship Id="n" Target="../notesSlides/notesSlide1.xml"/></Relationships>"#,
        ),
        ("ppt/notesSlides/notesSlide1.xml", &notes),
    ])
}

pub fn ods() -> Vec<u8> {
    let content = r#"<office:document-content xmlns:office="o" xmlns:table="t" xmlns:text="x"><office:body><office:spreadsheet>
    <table:table table:name="数据"><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>Head</text:p></table:table-cell><table:covered-table-cell/></table:table-row>
    <table:table-row table:number-rows-repeated="2"><table:table-cell office:value-type="date" office:date-value="2024-03-05"><text:p>05.03.24</text:p></table:table-cell>
    <table:table-cell table:number-columns-repeated="2" office:value="0.5"><text:p>50 %</text:p></table:table-cell></table:table-row>
    <table:table-row table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="1024"/></table:table-row></table:table>
    <table:table table:name="Empty"/></office:spreadsheet></office:body></office:document-content>"#;
    package(&[("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", content)])
}

pub fn odt() -> Vec<u8> {
    let content = r#"<office:document-content xmlns:office="o" xmlns:text="x" xmlns:table="t"><office:body><office:text>
    <text:h text:outline-level="2">第一章</text:h><text:p>One<text:s text:c="2"/>two.</text:p>
    <text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>
    <table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>
    </office:text></office:body></office:document-content>"#;
    package(&[
        ("mimetype", "application/vnd.oasis.opendocument.text"),
        ("content.xml", content),
        ("meta.xml", r#"<m xmlns:dc="d"><dc:title>Open</dc:title></m>"#),
    ])
}

/// A PDF under construction: objects by number, from 1.
#[derive(Default)]
pub struct Pdf {
    objects: Vec<Vec<u8>>,
}

impl Pdf {
    pub fn object(&mut self, bytes: impl Into<Vec<u8>>) -> usize {
        self.objects.push(bytes.into());
        self.objects.len()
    }

    pub fn stream(&mut self, dict: &str, data: &[u8]) -> usize {
        let mut object = format!("<< {dict} /Length {} >>\nstream\n", data.len()).into_bytes();
        object.extend(data);
        object.extend(b"\nendstream");
        self.object(object)
    }

    pub fn finish(self, trailer: &str) -> Vec<u8> {
        let (mut file, mut places) = (b"%PDF-1.7\n".to_vec(), Vec::new());
        for (at, object) in self.objects.iter().enumerate() {
            places.push(file.len());
            file.extend(format!("{} 0 obj\n", at + 1).bytes());
            file.extend(object);
            file.extend(b"\nendobj\n");
        }
        let start = file.len();
        file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
        for place in &places {
            file.extend(format!("{place:010} 00000 n \n").bytes());
        }
        file.extend(
            format!("trailer << /Size {} {trailer} >>\nstartxref\n{start}\n%%EOF\n", places.len() + 1)
                .bytes(),
        );
        file
    }
}

pub fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

/// A page for each text, set in Helvetica (`(Hello) Tj`) or a Chinese font that is not in the file (`<4F60> Tj` after `/F2 12 Tf`).
pub fn pdf(pages: &[String]) -> Vec<u8> {
    let mut pdf = Pdf::default();
    pdf.object("<< /Type /Catalog /Pages 2 0 R >>");
    let kids: Vec<_> = (0..pages.len()).map(|at| format!("{} 0 R", 7 + at * 2)).collect();
    pdf.object(format!("<< /Type /Pages /Count {} /Kids [{}] >>", pages.len(), kids.join(" ")));
    pdf.object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
    pdf.object("<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [5 0 R] >>");
    pdf.object("<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /STSong-Light /Flags 6 >> >>");
    pdf.object("<< /Title <FEFF5E745EA662A5544A> /Author (A. Writer) >>");
    for (at, page) in pages.iter().enumerate() {
        pdf.object(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {} 0 R /Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>",
            8 + at * 2
        ));
        pdf.stream("/Filter /FlateDecode", &deflated(page.as_bytes()));
    }
    pdf.finish("/Root 1 0 R /Info 6 0 R")
}

/// A page with a picture and nothing else, like a scan: an image of one colour per byte.
pub fn scan(width: usize, height: usize, gray: &[u8]) -> Vec<u8> {
    let mut pdf = Pdf::default();
    pdf.object("<< /Type /Catalog /Pages 2 0 R >>");
    pdf.object("<< /Type /Pages /Count 1 /Kids [3 0 R] >>");
    pdf.object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>");
    pdf.stream("", b"q 595 0 0 842 0 0 cm /I Do Q");
    let dict = format!(
        "/Type /XObject /Subtype /Image /Width {width} /Height {height} /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /FlateDecode"
    );
    pdf.stream(&dict, &deflated(gray));
    pdf.finish("/Root 1 0 R")
}

/// Lines of text at the left edge.
pub fn page(lines: &[&str]) -> String {
    let mut text = String::from("BT /F1 11 Tf 14 TL 60 780 Td\n");
    for line in lines {
        let _ = writeln!(text, "({line}) Tj T*");
    }
    text + "ET"
}

/// A sheet of Excel 97: the stream of records inside a compound file.
pub fn xls() -> Vec<u8> {
    let record = |kind: u16, content: &[u8]| {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend((content.len() as u16).to_le_bytes());
        bytes.extend(content);
        bytes
    };
    let cell = |row: u16, column: u16, style: u16| {
        [row.to_le_bytes(), column.to_le_bytes(), style.to_le_bytes()].concat()
    };
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let mut globals = record(0x0809, &[0, 6, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    globals.extend(record(0x00e0, &[0; 20]));
    globals.extend(record(0x00e0, &[[0, 0, 14, 0].as_slice(), &[0; 16]].concat()));
    // One string is cut by the end of its record, in the middle of its letters.
    let text = wide("北京市");
    let head = [1u32.to_le_bytes().as_slice(), &1u32.to_le_bytes(), &3u16.to_le_bytes(), &[1]].concat();
    globals.extend(record(0x00fc, &[head.as_slice(), &text[..4]].concat()));
    globals.extend(record(0x003c, &[[1].as_slice(), &text[4..]].concat()));
    let name = "表1";
    let length = 4 + 8 + wide(name).len();
    let start = (globals.len() + length + 4) as u32;
    let sheet_name = [[2, 1].as_slice(), &wide(name)].concat();
    globals.extend(record(0x0085, &[start.to_le_bytes().as_slice(), &[0, 0], &sheet_name].concat()));
    globals.extend(record(0x000a, &[]));
    let mut sheet = record(0x0809, &[0, 6, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    sheet.extend(record(0x00fd, &[cell(0, 0, 0), 0u32.to_le_bytes().to_vec()].concat()));
    sheet.extend(record(0x0203, &[cell(0, 1, 1), 45356f64.to_le_bytes().to_vec()].concat()));
    sheet.extend(record(0x027e, &[cell(1, 0, 0), (1234u32 << 2 | 3).to_le_bytes().to_vec()].concat()));
    let string_result = [cell(1, 1, 0), vec![0, 0, 0, 0, 0, 0, 0xff, 0xff], vec![0; 8]].concat();
    sheet.extend(record(0x0006, &string_result));
    sheet.extend(record(0x0207, &[2u16.to_le_bytes().as_slice(), &[0], b"ok"].concat()));
    sheet.extend(record(0x000a, &[]));
    globals.truncate(start as usize);
    globals.extend(sheet);
    compound("Workbook", &globals)
}

/// A compound file with one stream.
pub fn compound(name: &str, stream: &[u8]) -> Vec<u8> {
    let mut stream = stream.to_vec();
    stream.resize(stream.len().max(4096).next_multiple_of(512), 0);
    let count = stream.len() / 512;
    let mut header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec();
    header.resize(512, 0);
    let mut put = |at: usize, value: u32| header[at..at + 4].copy_from_slice(&value.to_le_bytes());
    put(28, 0x0009_fffe);
    put(44, 1);
    put(48, 1);
    put(56, 4096);
    put(60, 0xffff_fffe);
    put(68, 0xffff_fffe);
    put(76, 0);
    for at in 1..109 {
        put(76 + at * 4, 0xffff_ffff);
    }
    let mut chains = vec![0xffff_fffdu32, 0xffff_fffe];
    chains.extend((0..count).map(|at| if at + 1 == count { 0xffff_fffe } else { at as u32 + 3 }));
    chains.resize(128, 0xffff_ffff);
    let mut directory = vec![0; 512];
    for (at, (name, kind, first, size)) in
        [("Root Entry", 5u8, 0xffff_fffeu32, 0u32), (name, 2, 2, stream.len() as u32)].iter().enumerate()
    {
        let wide: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let entry = &mut directory[at * 128..(at + 1) * 128];
        entry[..wide.len()].copy_from_slice(&wide);
        entry[64..66].copy_from_slice(&(wide.len() as u16 + 2).to_le_bytes());
        entry[66] = *kind;
        entry[116..120].copy_from_slice(&first.to_le_bytes());
        entry[120..124].copy_from_slice(&size.to_le_bytes());
    }
    let table: Vec<u8> = chains.iter().flat_map(|next| next.to_le_bytes()).collect();
    [header, table, directory, stream].concat()
}
