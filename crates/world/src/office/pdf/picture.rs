//! Pictures on pages, unpacked into the simplest format there is.

use hayro_interpret::{Image, ImageData};

/// A picture of a page as binary PGM or PPM.
#[derive(Clone, Debug)]
pub struct PageImage {
    pub page: u32,
    pub width: u32,
    pub height: u32,
    pub bytes: Vec<u8>,
}

/// Two A4 pages at 600 dots per inch.
const MOST_PIXELS: u64 = 80_000_000;
/// Smaller ones are logos, lines and bullets.
const LEAST_SIDE: u32 = 80;

pub(super) fn is_worth_reading(width: u32, height: u32) -> bool {
    width >= LEAST_SIDE && height >= LEAST_SIDE / 4 && u64::from(width) * u64::from(height) <= MOST_PIXELS
}

pub(super) fn unpacked(image: Image<'_, '_>, page: u32) -> Option<PageImage> {
    let mut found = None;
    match image {
        Image::Raster(raster) => raster.with_rgba(
            |data, _| {
                found = Some(match data {
                    ImageData::Rgb(rgb) => portable(page, "P6", rgb.width, rgb.height, rgb.data),
                    ImageData::Luma(luma) => portable(page, "P5", luma.width, luma.height, luma.data),
                });
            },
            None,
        ),
        // A stencil says where ink goes: dark where it is full.
        Image::Stencil(stencil) => stencil.with_stencil(
            |luma, _| {
                let inverted = luma.data.iter().map(|ink| 255 - ink).collect();
                found = Some(portable(page, "P5", luma.width, luma.height, inverted));
            },
            None,
        ),
    }
    found
}

fn portable(page: u32, mark: &str, width: u32, height: u32, data: Vec<u8>) -> PageImage {
    let mut bytes = format!("{mark}\n{width} {height}\n255\n").into_bytes();
    bytes.extend(data);
    PageImage { page, width, height, bytes }
}
