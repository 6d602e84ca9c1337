//! Text as lines of so many cells: breaks at blanks where there are any, between characters where there are none.

use crate::render::Width;
use unicode_segmentation::UnicodeSegmentation as _;

/// Lines that fit. Text from outside is made safe here; at least one line comes back.
pub fn wrap(text: &str, cells: usize, width: Width) -> Vec<String> {
    let cells = cells.max(2);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line).replace('\t', "    ");
        wrap_line(&fugato_model::escape_for_terminal(&line), cells, width, &mut lines);
    }
    lines
}

fn wrap_line(line: &str, cells: usize, width: Width, lines: &mut Vec<String>) {
    let (mut current, mut used) = (String::new(), 0);
    for word in line.split_word_bounds() {
        let wide = width.of(word);
        if used + wide <= cells {
            current.push_str(word);
            used += wide;
            continue;
        }
        // A blank at the end of a line is not carried over.
        if word.trim().is_empty() {
            lines.push(std::mem::take(&mut current));
            used = 0;
            continue;
        }
        if wide <= cells {
            let carried = carried(&mut current, word, cells - wide, width);
            lines.push(current.trim_end().to_owned());
            current = carried + word;
            used = width.of(&current);
            continue;
        }
        for grapheme in word.graphemes(true) {
            let wide = width.of(grapheme);
            if used + wide > cells {
                lines.push(std::mem::take(&mut current));
                used = 0;
            }
            current.push_str(grapheme);
            used += wide;
        }
    }
    lines.push(current);
}

/// A comma does not begin a line of Chinese: the character before it comes along, where there is room.
fn carried(current: &mut String, word: &str, room: usize, width: Width) -> String {
    let is_mark = word.chars().all(|c| "，。、；：？！）》」』】”’…".contains(c));
    let fits = |(at, last): &(usize, &str)| is_mark && *at > 0 && width.of(last) <= room;
    let Some((at, last)) = current.grapheme_indices(true).next_back().filter(fits) else {
        return String::new();
    };
    let last = last.to_owned();
    current.truncate(at);
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole_chinese_breaks_anywhere_and_nothing_is_too_wide() {
        assert_eq!(wrap("one two three", 8, Width::Narrow), ["one two", "three"]);
        assert_eq!(wrap("一二三四五", 4, Width::Narrow), ["一二", "三四", "五"]);
        assert_eq!(wrap("abcdefgh", 3, Width::Narrow), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\nb", 9, Width::Narrow), ["a", "", "b"]);
        assert_eq!(wrap("", 9, Width::Narrow), [""]);
        assert_eq!(wrap("一二三，四", 6, Width::Narrow), ["一二", "三，四"]);
        let hostile = "x\u{1b}[2J\u{202e} 名字很长的一段话 and more words… “quoted”".repeat(4);
        for width in [Width::Narrow, Width::Wide] {
            for cells in 2..40 {
                for line in wrap(&hostile, cells, width) {
                    assert!(width.of(&line) <= cells, "{cells}: {line}");
                    assert!(!line.contains('\u{1b}') && !line.contains('\u{202e}'));
                }
            }
        }
    }
}
