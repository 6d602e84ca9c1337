//! From lines to the cells of a terminal, by the widths this person's terminal has. Colours are the terminal's own
//! sixteen, and never a background: they are readable on light and dark.

use super::{Look, Screen, Shown};
use crate::render::Width;
use anstyle::{AnsiColor, Effects};
use ratatui::buffer::{Buffer, CellDiffOption};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use unicode_segmentation::UnicodeSegmentation as _;

/// May colours be used?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Colours,
    /// Bold, dim and reversed remain: they are no colours.
    Plain,
}

pub fn put(screen: &Screen, buffer: &mut Buffer, width: Width, paint: Paint) {
    let area = buffer.area;
    for (row, shown) in (area.y..area.bottom()).zip(&screen.rows) {
        put_row(shown, buffer, area, row, width, paint);
    }
}

fn put_row(shown: &Shown, buffer: &mut Buffer, area: Rect, row: u16, width: Width, paint: Paint) {
    let chosen = Style::new().add_modifier(Modifier::REVERSED);
    if shown.look == Look::Chosen {
        for column in area.x..area.right() {
            buffer.cell_mut((column, row)).into_iter().for_each(|cell| {
                cell.set_style(chosen);
            });
        }
    }
    let mut column = area.x;
    for span in &shown.line {
        let style = match shown.look {
            Look::Plain => look(span.style, paint),
            Look::Chosen => chosen,
        };
        for grapheme in span.text.graphemes(true) {
            let Ok(cells) = u16::try_from(width.of(grapheme)) else { return };
            if cells == 0 {
                continue;
            }
            if column.saturating_add(cells) > area.right() {
                return;
            }
            if let Some(cell) = buffer.cell_mut((column, row)) {
                cell.set_symbol(grapheme).set_style(style);
                // Wider here than the library would think: on terminals where `…` takes two cells.
                if let Some(forced) = std::num::NonZeroU16::new(cells).filter(|_| cells > 1) {
                    cell.set_diff_option(CellDiffOption::ForcedWidth(forced));
                }
            }
            for covered in column + 1..column + cells {
                buffer.cell_mut((covered, row)).into_iter().for_each(|cell| {
                    cell.set_symbol(" ").set_style(style);
                });
            }
            column += cells;
        }
    }
}

fn look(style: anstyle::Style, paint: Paint) -> Style {
    let mut look = Style::new();
    if let (Paint::Colours, Some(anstyle::Color::Ansi(colour))) = (paint, style.get_fg_color()) {
        look = look.fg(match colour {
            AnsiColor::Red => Color::Red,
            AnsiColor::Green => Color::Green,
            AnsiColor::Yellow => Color::Yellow,
            AnsiColor::Blue => Color::Blue,
            AnsiColor::Magenta => Color::Magenta,
            AnsiColor::Cyan => Color::Cyan,
            _ => Color::Reset,
        });
    }
    for (effect, modifier) in [
        (Effects::BOLD, Modifier::BOLD),
        (Effects::DIMMED, Modifier::DIM),
        (Effects::ITALIC, Modifier::ITALIC),
        (Effects::UNDERLINE, Modifier::UNDERLINED),
        (Effects::INVERT, Modifier::REVERSED),
    ] {
        if style.get_effects().contains(effect) {
            look = look.add_modifier(modifier);
        }
    }
    look
}
