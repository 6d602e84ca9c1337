//! Which pages and which cells, as people write them.

use super::Trouble;
use std::ops::RangeInclusive;

/// `3-7,12`, `5-`, `-3`.
#[derive(Clone, Debug)]
pub(super) struct Pages(Vec<RangeInclusive<u32>>);

impl Pages {
    pub fn parse(text: Option<&str>) -> Result<Option<Self>, Trouble> {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty() && *text != "all") else {
            return Ok(None);
        };
        let parts = text.split([',', ';', '，', '、']).map(str::trim).filter(|part| !part.is_empty());
        let ranges = parts.map(|part| page_range(part).ok_or(part)).collect::<Result<Vec<_>, _>>();
        match ranges {
            Ok(ranges) if !ranges.is_empty() => Ok(Some(Self(ranges))),
            Ok(_) => Err(wrong_pages(text)),
            Err(part) => Err(wrong_pages(part)),
        }
    }

    pub fn contain(&self, page: u32) -> bool {
        self.0.iter().any(|range| range.contains(&page))
    }

    pub fn last(&self) -> u32 {
        self.0.iter().map(|range| *range.end()).max().unwrap_or(0)
    }

    /// An error when not one of them is there.
    pub fn check(&self, count: u32, what: &str) -> Result<(), Trouble> {
        if self.0.iter().any(|range| *range.start() <= count) {
            return Ok(());
        }
        Err(Trouble::Selection(format!("there are only {count} {what}; choose from 1-{count}")))
    }
}

fn wrong_pages(found: &str) -> Trouble {
    Trouble::Selection(format!("`pages` is `{found}`; write numbers and ranges like `3-7,12`"))
}

fn page_range(part: &str) -> Option<RangeInclusive<u32>> {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let Some((from, to)) = part.split_once(['-', '–', '~']) else {
        let page = number(part).filter(|page| *page > 0)?;
        return Some(page..=page);
    };
    let from = if from.trim().is_empty() { 1 } else { number(from)? };
    let to = if to.trim().is_empty() { u32::MAX } else { number(to)? };
    (from > 0 && from <= to).then_some(from..=to)
}

/// A block of cells, counted from 0. An open side reaches to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub first_row: u32,
    pub last_row: u32,
    pub first_column: u32,
    pub last_column: u32,
}

impl Area {
    pub const ALL: Self = Self { first_row: 0, last_row: u32::MAX, first_column: 0, last_column: u32::MAX };

    pub fn parse(text: Option<&str>) -> Result<Self, Trouble> {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(Self::ALL) };
        Self::read(text).ok_or_else(|| {
            Trouble::Selection(format!("`range` is `{text}`; write cells like `A1:F200`, `A:C` or `10:20`"))
        })
    }

    pub fn read(text: &str) -> Option<Self> {
        let text = text.rsplit('!').next().unwrap_or(text).replace('$', "");
        let (from, to) = text.split_once([':', '：']).unwrap_or((&text, &text));
        let ((from_column, from_row), (to_column, to_row)) = (corner(from)?, corner(to)?);
        let area = Self {
            first_row: from_row.unwrap_or(0),
            last_row: to_row.unwrap_or(u32::MAX),
            first_column: from_column.unwrap_or(0),
            last_column: to_column.unwrap_or(u32::MAX),
        };
        (area.first_row <= area.last_row && area.first_column <= area.last_column).then_some(area)
    }
}

/// `B12`, `B` or `12`, counted from 0.
fn corner(text: &str) -> Option<(Option<u32>, Option<u32>)> {
    let text = text.trim();
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (letters, digits) = text.split_at_checked(letters)?;
    if letters.is_empty() && digits.is_empty() {
        return None;
    }
    let row = if digits.is_empty() { None } else { Some(digits.parse::<u32>().ok()?.checked_sub(1)?) };
    let column = if letters.is_empty() { None } else { Some(column_number(letters)?) };
    Some((column, row))
}

/// `A` is 0. More than three letters is no column of any program.
fn column_number(letters: &str) -> Option<u32> {
    if letters.len() > 3 {
        return None;
    }
    let number = letters.bytes().fold(0, |number, letter| {
        number * 26 + u32::from(letter.to_ascii_uppercase().saturating_sub(b'A')) + 1
    });
    number.checked_sub(1)
}

/// 0 is `A`.
pub(super) fn column_letters(column: u32) -> String {
    let (mut number, mut letters) = (u64::from(column) + 1, Vec::new());
    while number > 0 {
        number -= 1;
        letters.push(char::from(b'A' + u8::try_from(number % 26).unwrap_or(0)));
        number /= 26;
    }
    letters.iter().rev().collect()
}

/// The row and column of `B12`, counted from 0, without allocating: sheets have millions of these.
pub(super) fn cell_place(text: &str) -> Option<(u32, u32)> {
    let (mut column, mut row) = (0u32, 0u32);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' if row == 0 && column < 20_000 => column = column * 26 + u32::from(byte - b'A') + 1,
            b'0'..=b'9' => row = row.checked_mul(10)?.checked_add(u32::from(byte - b'0'))?,
            _ => return None,
        }
    }
    Some((row.checked_sub(1)?, column.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_read_as_people_write_them() {
        let pages = Pages::parse(Some("3-7, 12，15-")).unwrap().unwrap();
        let chosen: Vec<_> = (1..18).filter(|page| pages.contain(*page)).collect();
        assert_eq!(chosen, [3, 4, 5, 6, 7, 12, 15, 16, 17]);
        assert!(Pages::parse(Some("all")).unwrap().is_none() && Pages::parse(None).unwrap().is_none());
        for wrong in ["0", "7-3", "x", "3--4", "-", ",", "99999999999"] {
            let told = Pages::parse(Some(wrong)).map(|pages| format!("{pages:?}"));
            assert!(told.as_ref().is_err() || wrong == "-", "{wrong}: {told:?}");
        }
        assert!(pages.check(2, "pages").unwrap_err().to_string().contains("only 2 pages"));
    }

    #[test]
    fn cells_are_read_as_people_write_them() {
        let area = |text| Area::read(text).map(|a| (a.first_row, a.last_row, a.first_column, a.last_column));
        assert_eq!(area("A1:F200"), Some((0, 199, 0, 5)));
        assert_eq!(area("$b$3"), Some((2, 2, 1, 1)));
        assert_eq!(area("Sheet1!AA10:AB11"), Some((9, 10, 26, 27)));
        assert_eq!(area("A:C"), Some((0, u32::MAX, 0, 2)));
        assert_eq!(area("10:20"), Some((9, 19, 0, u32::MAX)));
        for wrong in ["", ":", "A0", "F1:A1", "ABCD1", "A1:B2:C3", "中"] {
            assert_eq!(area(wrong), None, "{wrong}");
        }
        for column in [0, 25, 26, 701, 702, 16383] {
            assert_eq!(column_number(&column_letters(column)), Some(column));
        }
        assert_eq!((cell_place("B12"), cell_place("12"), cell_place("B")), (Some((11, 1)), None, None));
        assert_eq!(cell_place("ZZZZZZZZZ1"), None);
    }
}
