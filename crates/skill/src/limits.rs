//! Every bound on skill files in one place, each with its reason and what happens past it.

/// Frontmatter of one skill file. The largest of ten thousand public skills is under 16 KiB; four times that leaves
/// room for long `phases`. Past it the skill is invalid (F0122): frontmatter of every skill is held in memory.
pub const FRONTMATTER_BYTES: usize = 64 * 1024;

/// One `SKILL.md`. An agent could never read more in one context; long material belongs in reference files. Past it the
/// skill is invalid (F0122) and nothing of it is parsed.
pub const SKILL_FILE_BYTES: usize = 512 * 1024;

/// Any one file of a skill. Past it the file is neither read nor installed (F0122).
pub const FILE_BYTES: usize = 4 * 1024 * 1024;

/// All files of a skill together. Past it the skill is not installed, digested or exported (F0122).
pub const SKILL_BYTES: usize = 16 * 1024 * 1024;

/// Number of files of a skill. Past it the skill is not installed, digested or exported (F0122).
pub const SKILL_FILES: usize = 512;

/// Nesting of YAML collections. Real phases nest six deep; the bound keeps every walk over a tree off the stack's end.
/// Past it the file does not parse (F0106).
pub const YAML_DEPTH: usize = 32;

/// Scalars and collections of one YAML text. Past it the file does not parse (F0106).
pub const YAML_NODES: usize = 10_000;

/// The longest `description` of the Agent Skills specification, in characters. Longer ones load with a warning (F0114)
/// and are cut in catalogs; strict checking refuses them.
pub const DESCRIPTION_CHARS: usize = 1024;

/// What is kept of a description that is too long, in characters: enough for search, bounded for memory.
pub const KEPT_DESCRIPTION_CHARS: usize = 4096;

/// The longest `compatibility` of the Agent Skills specification, in characters (F0123).
pub const COMPATIBILITY_CHARS: usize = 500;

/// Problems of one kind reported for one file. More help nobody, and each one carries a copy of its line.
pub const REPORTED_KEYS: usize = 16;

/// Phases of one skill. Real ones have under ten; five hundred are still drawn and checked in a blink. Past it the
/// skill does not run (F0812).
pub const PHASES: usize = 500;

/// Subagents of one skill, over all phases. Past it the skill does not run (F0812).
pub const SUBAGENTS: usize = 5_000;

/// The side file of `metadata.fugato-phases`: five hundred phases with ten thousand dependencies are 110 KiB. Past it
/// nothing of the file is parsed (F0812).
pub const PHASES_FILE_BYTES: usize = 512 * 1024;

/// Scalars and collections of that side file (F0812).
pub const PHASES_NODES: usize = 60_000;

/// One reference `{{…}}`, between the braces. Real ones have under eighty bytes; a longer one is text with braces (F0810).
pub const REFERENCE_BYTES: usize = 512;

/// What a template may become. Values repeat as often as they are named, so a small template could ask for any amount
/// of memory; past this rendering fails (F0817).
pub const RENDERED_BYTES: usize = 4 * 1024 * 1024;

/// Text of one SOP program: ten thousand declarations of a line each are under 1 MiB. Past it nothing of it is parsed
/// (F1209): as arguments of one letter it would be thirty times as much memory.
pub const SOP_PROGRAM_BYTES: usize = 2 * 1024 * 1024;

/// Texts that the `assign`s of one SOP program put together. Each may double what it refers to, so thirty lines could ask
/// for any amount of memory; past this an `assign` fails.
pub const SOP_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// Errors of one SOP program that are told. To draw one costs a look at the text before it, and two megabytes have room for
/// half a million; nobody reads more than this at once.
pub const SOP_ERRORS: usize = 1_000;
