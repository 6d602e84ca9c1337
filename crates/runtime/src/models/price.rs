//! What answers cost. A model that is not in the table has an unknown price, and an unknown price is an unknown cost,
//! never zero.

use fugato_model::chat::Usage;
use std::collections::BTreeMap;

/// The day the table below was put together from published prices. Prices change; own ones come first.
pub const DATE: &str = "2026-11-15";

/// Thousandths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Longer prompts are priced otherwise, so their cost is unknown.
    pub up_to_input_tokens: Option<u64>,
}

const fn price(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Price {
    Price { input, output, cache_read, cache_write, up_to_input_tokens: None }
}

const fn short(price: Price, up_to: u64) -> Price {
    Price { up_to_input_tokens: Some(up_to), ..price }
}

/// Standard prices, without batch or priority tiers; cache writes are the five-minute ones.
const TABLE: &[(&str, Price)] = &[
    ("anthropic/claude-opus-5-5", price(4_000, 20_000, 200, 5_000)),
    ("anthropic/claude-opus-5", price(5_000, 25_000, 500, 6_250)),
    ("anthropic/claude-opus-4-8", price(5_000, 25_000, 500, 6_250)),
    ("anthropic/claude-opus-4-7", price(5_000, 25_000, 500, 6_250)),
    ("anthropic/claude-opus-4-6", price(5_000, 25_000, 500, 6_250)),
    ("anthropic/claude-opus-4-5", price(5_000, 25_000, 500, 6_250)),
    ("anthropic/claude-sonnet-5-5", price(2_000, 10_000, 100, 2_500)),
    ("anthropic/claude-sonnet-5", price(2_000, 10_000, 200, 2_500)),
    ("anthropic/claude-sonnet-4-6", price(3_000, 15_000, 300, 3_750)),
    ("anthropic/claude-sonnet-4-5", price(3_000, 15_000, 300, 3_750)),
    ("anthropic/claude-haiku-5-5", short(price(100, 500, 10, 125), 100_000)),
    ("anthropic/claude-haiku-4-5", price(1_000, 5_000, 100, 1_250)),
    ("openai/gpt-6-sol", short(price(2_000, 10_000, 200, 2_500), 272_000)),
    ("openai/gpt-6-luna", short(price(100, 500, 10, 125), 272_000)),
    ("gemini/gemini-3.8-flash", price(750, 3_750, 75, 750)),
];

/// The price of `provider/name`: the person's own first, then the table. Dated names (`…-20260922`, `…-2026-09-22`) have
/// the price of the name without the date.
pub fn price_of(model: &str, own: &BTreeMap<String, Price>) -> Option<Price> {
    let model =
        model.strip_prefix("openai-chat/").map_or_else(|| model.to_owned(), |name| format!("openai/{name}"));
    let undated = without_date(&model);
    let find = |name: &str| {
        let listed = || TABLE.iter().find(|(listed, _)| *listed == name).map(|(_, price)| *price);
        own.get(name).copied().or_else(listed)
    };
    find(&model).or_else(|| find(undated))
}

impl Price {
    /// The cost in billionths of a US dollar. `None` when a needed number is unknown or the price does not apply.
    pub fn cost(&self, usage: &Usage) -> Option<u64> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        if self.up_to_input_tokens.is_some_and(|most| input > most) {
            return None;
        }
        let read = usage.cache_read_tokens.unwrap_or(0).min(input);
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - read);
        let fresh = input - read - written;
        // Thousandths of a dollar per million tokens are billionths of a dollar per token.
        [(fresh, self.input), (output, self.output), (read, self.cache_read), (written, self.cache_write)]
            .into_iter()
            .try_fold(0_u64, |sum, (tokens, price)| sum.checked_add(tokens.checked_mul(price)?))
    }
}

fn without_date(model: &str) -> &str {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let dated = |rest: &str| {
        let parts: Vec<_> = rest.split('-').collect();
        match parts.as_slice() {
            [day] => day.len() == 8 && digits(day),
            [year, month, day] => year.len() == 4 && [year, month, day].into_iter().all(|part| digits(part)),
            _ => false,
        }
    };
    let cuts = model.rmatch_indices('-').take(3);
    cuts.filter_map(|(at, _)| model.split_at_checked(at))
        .find(|(_, rest)| dated(rest.trim_start_matches('-')))
        .map_or(model, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64, read: u64, written: u64) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cache_read_tokens: Some(read),
            cache_write_tokens: Some(written),
        }
    }

    #[test]
    fn cached_tokens_are_part_of_the_input_and_cheaper() {
        let price = price_of("anthropic/claude-opus-5-5", &BTreeMap::new()).unwrap();
        assert_eq!(price.cost(&usage(1_000_000, 0, 0, 0)), Some(4_000_000_000));
        assert_eq!(price.cost(&usage(1_000_000, 0, 1_000_000, 0)), Some(200_000_000));
        assert_eq!(price.cost(&usage(1_000_000, 1_000_000, 0, 1_000_000)), Some(25_000_000_000));
        assert_eq!(price.cost(&usage(10, 0, 99, 99)), Some(2_000), "a provider that counts wrongly");
    }

    #[test]
    fn unknown_is_not_zero() {
        assert_eq!(price_of("ollama/qwen3", &BTreeMap::new()), None);
        let price = price_of("anthropic/claude-haiku-5-5", &BTreeMap::new()).unwrap();
        assert_eq!(price.cost(&Usage::default()), None);
        assert_eq!(price.cost(&usage(100_001, 1, 0, 0)), None);
        assert_eq!(price.cost(&usage(u64::MAX, 1, 0, 0)), None);
    }

    #[test]
    fn dated_names_and_own_prices_are_found() {
        let mut own = BTreeMap::new();
        for name in ["anthropic/claude-opus-5-5-20260922", "anthropic/claude-opus-5-5-2026-09-22"] {
            assert_eq!(price_of(name, &own), price_of("anthropic/claude-opus-5-5", &own), "{name}");
        }
        assert_eq!(
            price_of("anthropic/claude-opus-5-12345678", &own),
            price_of("anthropic/claude-opus-5", &own)
        );
        assert_eq!(price_of("openai-chat/gpt-6-sol", &own), price_of("openai/gpt-6-sol", &own));
        own.insert("ollama/qwen3".into(), price(0, 0, 0, 0));
        assert_eq!(price_of("ollama/qwen3", &own), Some(price(0, 0, 0, 0)));
    }
}
