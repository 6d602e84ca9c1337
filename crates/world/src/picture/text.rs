//! How wide text is, without a font: the machine that draws may have none of ours, and the viewer has others again.
//!
//! Widths are those of a wide sans-serif face, so text that fits here fits with the usual narrower ones too. Full-width
//! characters are one em wide in every font.

use unicode_width::UnicodeWidthChar as _;

/// Widths of `' '..='~'` in thousandths of an em.
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636,
    636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295,
    295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838,
    500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521,
    392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];
/// Of a character that is neither ASCII nor full-width.
const OTHER: u16 = 650;

/// Whether lines may break on either side of it, as in Chinese.
pub fn is_wide(character: char) -> bool {
    character.width().unwrap_or(0) > 1
}

fn thousandths(character: char) -> u32 {
    if let Some(at) = u32::from(character).checked_sub(32)
        && let Some(width) = ASCII.get(at as usize)
    {
        return u32::from(*width);
    }
    match character.width() {
        None | Some(0) => 0,
        Some(1) => u32::from(OTHER),
        Some(_) => 1000,
    }
}

/// The width of one line in pixels.
pub fn width(text: &str, size: f64) -> f64 {
    let sum: u64 = text.chars().map(|character| u64::from(thousandths(character))).sum();
    // Texts are far shorter than what a float counts exactly.
    #[expect(clippy::cast_precision_loss, reason = "a sum of a line's widths is far below 2^52")]
    let sum = sum as f64;
    sum / 1000.0 * size
}

/// The line, or as much of it as fits with an ellipsis.
pub fn clip(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_owned();
    }
    let room = limit - width("…", size);
    let mut used = 0.0;
    let mut kept = String::new();
    for character in text.chars() {
        used += f64::from(thousandths(character)) / 1000.0 * size;
        if used > room {
            break;
        }
        kept.push(character);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// Lines of at most this width: broken at blanks and around full-width characters, inside a word only if it is wider
/// than a line. Line ends stay.
pub fn wrap(text: &str, size: f64, limit: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let before = lines.len();
        let mut wrapping = Wrapping { lines: &mut lines, line: String::new(), used: 0.0, size, limit };
        pieces(paragraph, &mut |piece| wrapping.take(piece));
        wrapping.finish();
        if lines.len() == before {
            lines.push(String::new());
        }
    }
    lines
}

/// Calls with every piece that is not broken: a word with the blanks before it, or one full-width character.
fn pieces(text: &str, take: &mut dyn FnMut(&str)) {
    let mut start = 0;
    let mut in_word = false;
    for (at, character) in text.char_indices() {
        let wide = is_wide(character) && !no_line_starts_with(character);
        let begins = wide || (character.is_whitespace() && in_word);
        if begins && at > start {
            take(text.get(start..at).unwrap_or_default());
            start = at;
        }
        in_word = !character.is_whitespace();
        if wide {
            // What follows may go to the next line, unless it is closing punctuation.
            let end = at + character.len_utf8();
            let next = text.get(end..).and_then(|rest| rest.chars().next());
            if next.is_none_or(|next| !no_line_starts_with(next)) {
                take(text.get(start..end).unwrap_or_default());
                start = end;
                in_word = false;
            }
        }
    }
    if start < text.len() {
        take(text.get(start..).unwrap_or_default());
    }
}

fn no_line_starts_with(character: char) -> bool {
    matches!(
        character,
        '，' | '。'
            | '、'
            | '；'
            | '：'
            | '！'
            | '？'
            | '）'
            | '》'
            | '」'
            | '』'
            | '】'
            | '”'
            | '’'
            | '%'
    )
}

struct Wrapping<'a> {
    lines: &'a mut Vec<String>,
    line: String,
    used: f64,
    size: f64,
    limit: f64,
}

impl Wrapping<'_> {
    fn take(&mut self, piece: &str) {
        let wide = width(piece, self.size);
        if self.used + wide <= self.limit {
            self.line.push_str(piece);
            self.used += wide;
            return;
        }
        self.finish();
        let piece = piece.trim_start();
        if width(piece, self.size) <= self.limit {
            self.line.push_str(piece);
            self.used = width(piece, self.size);
            return;
        }
        for character in piece.chars() {
            let wide = f64::from(thousandths(character)) / 1000.0 * self.size;
            if self.used + wide > self.limit {
                self.finish();
            }
            self.line.push(character);
            self.used += wide;
        }
    }

    fn finish(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.used = 0.0;
        if !line.trim_end().is_empty() {
            self.lines.push(line.trim_end().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chinese_characters_are_one_em_and_break_anywhere_but_before_a_full_stop() {
        assert!((width("中文", 10.0) - 20.0).abs() < 1e-9);
        assert_eq!(wrap("发布计划已经确认。", 10.0, 40.0), ["发布计划", "已经确", "认。"]);
    }

    #[test]
    fn words_stay_whole_and_endless_ones_are_broken() {
        assert_eq!(wrap("one two three", 10.0, 50.0), ["one two", "three"]);
        assert!(wrap(&"x".repeat(100), 10.0, 50.0).iter().all(|line| width(line, 10.0) <= 50.0));
        assert_eq!(wrap("a\n\nb", 10.0, 50.0), ["a", "", "b"]);
    }

    #[test]
    fn clipped_text_fits_and_ends_with_an_ellipsis() {
        let clipped = clip("a rather long label 很长的标签", 12.0, 80.0);
        assert!(clipped.ends_with('…') && width(&clipped, 12.0) <= 80.0, "{clipped}");
        assert_eq!(clip("short", 12.0, 80.0), "short");
    }

    proptest! {
        #[test]
        fn wrapping_loses_no_character_but_blanks(text in ".{0,200}", limit in 12.0..300.0) {
            let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let wrapped = wrap(&text, 12.0, limit);
            prop_assert_eq!(solid(&wrapped.concat()), solid(&text));
        }
    }
}
