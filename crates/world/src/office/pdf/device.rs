//! Where the library draws to: letters and pictures are collected with their places, lines and colours are not looked at.

use super::guard::check_picture;
use super::picture::{self, PageImage};
use crate::office::Watch;
use hayro_interpret::font::Glyph as Drawn;
use hayro_interpret::hayro_cmap::BfString;
use hayro_interpret::{BlendMode, ClipPath, Device, GlyphDrawMode, Image, Paint, PathDrawMode, SoftMask};
use kurbo::{Affine, BezPath, Point, Vec2};

/// A letter on a page: its place from the top left, the height and the width it takes.
#[derive(Clone, Debug)]
pub(super) struct Glyph {
    pub text: String,
    pub x: f64,
    pub y: f64,
    pub size: f64,
    pub width: f64,
}

/// A page full of the smallest print has twenty thousand.
const MOST_GLYPHS: usize = 500_000;
/// The clock is looked at once in so many calls.
const LOOK_EVERY: u32 = 256;

/// Thrown through the library when it must stop: it cannot be asked to.
pub(super) struct Stopped;

pub(super) struct Collector<'w> {
    pub watch: &'w Watch<'w>,
    pub glyphs: Vec<Glyph>,
    /// Letters of fonts that do not say what they draw.
    pub unknown: usize,
    pub picture_count: usize,
    pub pictures: Vec<PageImage>,
    /// The page whose pictures are wanted, and how many.
    wanted: Option<(u32, usize)>,
    calls: u32,
}

impl<'w> Collector<'w> {
    pub fn for_text(watch: &'w Watch<'w>) -> Self {
        Self {
            watch,
            glyphs: Vec::new(),
            unknown: 0,
            picture_count: 0,
            pictures: Vec::new(),
            wanted: None,
            calls: 0,
        }
    }

    pub fn for_pictures(watch: &'w Watch<'w>, page: u32, most: usize) -> Self {
        Self { wanted: Some((page, most)), ..Self::for_text(watch) }
    }

    fn tick(&mut self) {
        self.calls = self.calls.wrapping_add(1);
        if self.calls.is_multiple_of(LOOK_EVERY) && self.watch.check().is_err() {
            // Not a panic: no message is printed, and the thread's owner knows what it means.
            std::panic::resume_unwind(Box::new(Stopped));
        }
    }
}

impl<'a> Device<'a> for Collector<'_> {
    fn set_soft_mask(&mut self, _: Option<SoftMask<'a>>) {}

    fn set_blend_mode(&mut self, _: BlendMode) {}

    fn draw_path(&mut self, _: &BezPath, _: Affine, _: &Paint<'a>, _: &PathDrawMode) {
        self.tick();
    }

    fn push_clip_path(&mut self, _: &ClipPath) {
        self.tick();
    }

    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'a>>, _: BlendMode) {
        self.tick();
    }

    fn draw_glyph(
        &mut self,
        glyph: &Drawn<'a>,
        transform: Affine,
        glyph_transform: Affine,
        _: &Paint<'a>,
        _: &GlyphDrawMode,
    ) {
        self.tick();
        if self.wanted.is_some() || self.glyphs.len() >= MOST_GLYPHS {
            return;
        }
        // Letters are drawn on a square of a thousand units.
        let whole = transform * glyph_transform;
        let origin = whole * Point::ORIGIN;
        let along = |vector: Vec2| (whole * vector.to_point() - origin).hypot();
        let (size, unit) = (along(Vec2::new(0.0, 1000.0)), along(Vec2::new(1000.0, 0.0)) / 1000.0);
        let (advance, text) = match glyph {
            Drawn::Outline(outline) => (outline.advance_width().map(f64::from), outline.as_unicode()),
            Drawn::Type3(drawn) => (None, drawn.as_unicode()),
        };
        let text = match text {
            Some(BfString::Char(c)) => c.to_string(),
            Some(BfString::String(text)) => text,
            None => String::new(),
        };
        let text = plain(&text);
        if text.is_empty() {
            self.unknown += 1;
            return;
        }
        let is_sane =
            [origin.x, origin.y, size].iter().all(|number| number.is_finite() && number.abs() < 1e6);
        if !is_sane {
            return;
        }
        let wide = text.chars().next().is_some_and(|c| c > '\u{2e80}');
        let width = advance.map_or(size * if wide { 1.0 } else { 0.5 }, |advance| advance * unit);
        self.glyphs.push(Glyph { text, x: origin.x, y: origin.y, size: size.max(0.1), width });
    }

    fn draw_image(&mut self, image: Image<'a, '_>, _: Affine) {
        self.tick();
        self.picture_count += 1;
        let Some((page, most)) = self.wanted else { return };
        if self.pictures.len() < most && picture::is_worth_reading(image.width(), image.height()) {
            let measured = match &image {
                Image::Raster(raster) => check_picture(raster.stream(), self.watch).is_ok(),
                Image::Stencil(_) => true,
            };
            if measured {
                self.pictures.extend(picture::unpacked(image, page));
            }
        }
    }

    fn pop_clip_path(&mut self) {}

    fn pop_transparency_group(&mut self) {}
}

/// Ligatures as their letters; what cannot be seen is dropped.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ﬀ' => plain.push_str("ff"),
            'ﬁ' => plain.push_str("fi"),
            'ﬂ' => plain.push_str("fl"),
            'ﬃ' => plain.push_str("ffi"),
            'ﬄ' => plain.push_str("ffl"),
            '\u{a0}' | '\t' | '\n' | '\r' => plain.push(' '),
            '\u{ad}' => plain.push('-'),
            '\u{feff}' | '\u{200b}' => {}
            c if c.is_control() => {}
            c => plain.push(c),
        }
    }
    plain
}
