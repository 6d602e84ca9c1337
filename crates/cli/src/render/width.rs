//! Display cells: what a string takes on screen, Chinese included.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// How wide "ambiguous" characters (`…`, `·`, `→`) are on this person's terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    #[default]
    Narrow,
    /// Terminals set up for Chinese, Japanese or Korean may draw them two cells wide.
    Wide,
}

impl Width {
    pub fn of(self, text: &str) -> usize {
        match self {
            Self::Narrow => text.width(),
            Self::Wide => text.width_cjk(),
        }
    }

    /// Cuts at a grapheme so that the result, with its ellipsis, fits into `cells`.
    pub fn cut(self, text: &str, cells: usize) -> String {
        if self.of(text) <= cells {
            return text.to_owned();
        }
        let room = cells.saturating_sub(self.of("…"));
        let mut kept = String::new();
        let mut used = 0;
        for grapheme in text.graphemes(true) {
            let wide = self.of(grapheme);
            if used + wide > room {
                break;
            }
            used += wide;
            kept.push_str(grapheme);
        }
        kept.push('…');
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_takes_two_cells_and_is_never_cut_in_half() {
        let width = Width::Narrow;
        assert_eq!(width.of("技能 a"), 6);
        assert_eq!(width.cut("写作规则说明", 7), "写作规…");
        assert_eq!(width.of(&width.cut("写作规则说明", 6)), 5);
        assert_eq!(width.cut("👩‍🚀👩‍🚀👩‍🚀", 5), "👩‍🚀👩‍🚀…");
    }

    #[test]
    fn ambiguous_characters_follow_the_setting() {
        assert_eq!((Width::Narrow.of("→"), Width::Wide.of("→")), (1, 2));
    }
}
