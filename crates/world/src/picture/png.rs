//! SVG to pixels, with the fonts of the machine. Which text could not be drawn is said, not hidden.

use resvg::usvg::{self, fontdb};
use resvg::{tiny_skia, usvg::Transform};
use std::sync::{Arc, OnceLock};

/// A picture as a file.
#[derive(Clone, Debug)]
pub struct Png {
    pub bytes: Vec<u8>,
    /// Why some text is missing or shown as boxes.
    pub note: Option<&'static str>,
}

/// Why there are no pixels.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    #[error("the picture cannot be drawn: {0}")]
    Unreadable(String),
    #[error("the picture would have {width} × {height} pixels; at most {MAX_PIXELS} fit")]
    TooLarge { width: u32, height: u32 },
}

/// Four bytes each: 160 MB at most while drawing.
const MAX_PIXELS: u64 = 40_000_000;

const NO_FONTS: &str = "no fonts are installed on this machine, so the PNG has no text; the SVG has it (install a font, \
                        for example the package fonts-dejavu)";
const NO_CHINESE: &str = "no installed font has Chinese characters, so the PNG shows boxes for them; the SVG has them \
                          (install a font, for example the package fonts-noto-cjk or fonts-wqy-microhei)";

/// Draws the SVG, enlarged by `scale`.
pub fn png(svg: &str, scale: f32) -> Result<Png, PngError> {
    let fonts = fonts();
    let mut options = usvg::Options { fontdb: fonts.database.clone(), ..usvg::Options::default() };
    if let Some(family) = &fonts.usual {
        options.font_family.clone_from(family);
    }
    // A picture of ours refers to nothing outside itself.
    options.image_href_resolver.resolve_string = Box::new(|_, _| None);
    let tree =
        usvg::Tree::from_str(svg, &options).map_err(|error| PngError::Unreadable(error.to_string()))?;
    let size = tree.size().to_int_size().scale_by(scale).ok_or(PngError::TooLarge { width: 0, height: 0 })?;
    let (width, height) = (size.width(), size.height());
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(PngError::TooLarge { width, height });
    }
    let mut pixels = tiny_skia::Pixmap::new(width, height).ok_or(PngError::TooLarge { width, height })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let bytes = pixels.encode_png().map_err(|error| PngError::Unreadable(error.to_string()))?;
    let note = match svg.chars().any(super::is_wide) {
        _ if fonts.database.is_empty() => Some(NO_FONTS),
        true if !fonts.has_chinese => Some(NO_CHINESE),
        _ => None,
    };
    Ok(Png { bytes, note })
}

struct Fonts {
    database: Arc<fontdb::Database>,
    /// A family for text whose own are all missing.
    usual: Option<String>,
    has_chinese: bool,
}

/// Looked for once: a machine may have thousands of faces.
fn fonts() -> &'static Fonts {
    static FONTS: OnceLock<Fonts> = OnceLock::new();
    FONTS.get_or_init(|| {
        let mut database = fontdb::Database::new();
        database.load_system_fonts();
        let has = |name: &str| {
            let query = fontdb::Query { families: &[fontdb::Family::Name(name)], ..fontdb::Query::default() };
            database.query(&query).is_some()
        };
        let preferred = ["DejaVu Sans", "Noto Sans", "Liberation Sans", "Arial", "Helvetica"];
        let named = preferred.iter().find(|name| has(name)).map(|name| (*name).to_owned());
        let any = || database.faces().find_map(|face| Some(face.families.first()?.0.clone()));
        let usual = named.or_else(any);
        // The generic family must be one that is there, or text without any other is not drawn.
        if let Some(family) = &usual {
            database.set_sans_serif_family(family.clone());
        }
        let database = Arc::new(database);
        let has_chinese = has_chinese(&database);
        Fonts { database, usual, has_chinese }
    })
}

/// Two characters that look alike were drawn as the box for what no font has, or not at all.
fn has_chinese(database: &Arc<fontdb::Database>) -> bool {
    let drawn = |character: char| {
        let options = usvg::Options { fontdb: database.clone(), ..usvg::Options::default() };
        let svg = format!(
            "<svg xmlns='http://www.w3.org/2000/svg' width='24' height='24'>\
             <text x='2' y='20' font-size='18' font-family='sans-serif'>{character}</text></svg>"
        );
        let tree = usvg::Tree::from_str(&svg, &options).ok()?;
        let mut pixels = tiny_skia::Pixmap::new(24, 24)?;
        resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
        Some(pixels)
    };
    drawn('中') != drawn('文')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_becomes_a_png_of_its_size() {
        let mut svg = super::super::Svg::new((0.0, 0.0, 40.0, 30.0), "white");
        svg.text("hello", &[("x", "2"), ("y", "20")]);
        let png = png(&svg.finish(), 2.0).unwrap();
        assert!(png.bytes.starts_with(b"\x89PNG"));
        let side = |at: usize| u32::from_be_bytes(png.bytes[at..at + 4].try_into().unwrap());
        assert_eq!((side(16), side(20)), (80, 60));
    }

    #[test]
    fn a_picture_too_large_or_broken_is_an_error() {
        let svg = super::super::Svg::new((0.0, 0.0, 100_000.0, 100_000.0), "white").finish();
        assert!(matches!(png(&svg, 1.0), Err(PngError::TooLarge { .. })));
        assert!(matches!(png("<svg", 1.0), Err(PngError::Unreadable(_))));
    }
}
