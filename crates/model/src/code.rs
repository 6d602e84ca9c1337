//! Every problem a person can meet has a stable code, and every code a page (`fugato explain CODE`).
//!
//! Ranges: 01xx skill files · 02xx profiles and policy · 03xx inventory, archives, management · 04xx configuration and
//! state · 05xx command line · 07xx store.
//! state · 05xx command line · 09xx tools, processes, scripts · 11xx agents · 12xx orchestration skills.
//! state · 05xx command line · 08xx phases.
//! state · 05xx command line · 06xx models.
//! state · 05xx command line · 08xx phases.
//! state · 05xx command line · 06xx models.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! codes {
    ($($code:ident $title:literal;)*) => {
        /// The stable code of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Code { $(#[doc = $title] $code,)* }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => stringify!($code),)* }
            }

            /// What the code stands for, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$code => $title,)* }
            }
        }
    };
}

codes! {
    F0101 "frontmatter is missing";
    F0102 "frontmatter is not closed";
    F0103 "file is not UTF-8";
    F0104 "YAML does not parse";
    F0105 "duplicate key in frontmatter";
    F0106 "YAML limit exceeded";
    F0107 "frontmatter is not a mapping";
    F0108 "name is missing or not text";
    F0109 "name breaks a rule";
    F0110 "name has hidden or non-canonical characters";
    F0111 "name is reserved";
    F0112 "name differs from the directory";
    F0113 "description is missing or not text";
    F0114 "description is too long";
    F0115 "description has control or bidirectional characters";
    F0116 "description has hidden tag characters";
    F0117 "unknown key";
    F0118 "field has the wrong type";
    F0119 "value with an unquoted colon";
    F0120 "two skill files in one directory";
    F0121 "skill file is not a readable regular file";
    F0122 "size limit exceeded";
    F0123 "field is too long";
    F0124 "field is not portable";
    F0125 "side file is missing or leaves the skill";
    F0126 "link leaves the skill or loops";
    F0201 "profile does not parse";
    F0202 "duplicate key in profile";
    F0203 "unknown mode";
    F0204 "`+` is not first";
    F0205 "`+` as a prefix or a partial pattern";
    F0206 "redundant entry";
    F0207 "`+` in deny";
    F0208 "everything is denied";
    F0209 "wrong type in profile";
    F0210 "denied skill is not installed";
    F0211 "visible skill is not installed";
    F0212 "skill name is not canonical";
    F0213 "agent id is invalid or used twice";
    F0214 "required block is missing";
    F0215 "block of another mode";
    F0216 "`skills` nested in `skills`";
    F0217 "profile limit exceeded";
    F0218 "unknown key in profile";
    F0219 "empty list inherits";
    F0220 "unknown agent";
    F0221 "visible skill is installed but broken";
    F0222 "stages do not fit the nodes";
    F0301 "archive entry leaves the archive";
    F0302 "archive entry is a link or special file";
    F0303 "archive limit exceeded";
    F0304 "archive has colliding names";
    F0305 "archive has no single skill";
    F0306 "archive is broken or unsupported";
    F0307 "a skill of that name is installed";
    F0308 "archive entry name is not portable";
    F0309 "digest differs";
    F0310 "skill is not installed";
    F0311 "skill is ambiguous";
    F0312 "embedded payload is invalid";
    F0313 "file changed since it was read";
    F0314 "scope is not usable";
    F0401 "configuration does not parse";
    F0402 "unknown configuration key";
    F0403 "configuration value is invalid";
    F0404 "state directory is not usable";
    F0405 "a project's file cannot decide where keys go";
    F0406 "a project's file cannot give commands more";
    F0407 "settings of a host cannot be changed";
    F0601 "model script cannot be read";
    F0602 "no rule of the model script fits";
    F0603 "no model is configured";
    F0604 "model name is unknown";
    F0605 "key is missing or refused";
    F0606 "provider rejected the request";
    F0607 "conversation is too long for the model";
    F0608 "provider is overloaded, out of reach or broke off";
    F0609 "answer of the model is malformed";
    F0610 "address of a provider is not usable";
    F0611 "recorded answer is missing";
    F0701 "the store cannot be written";
    F0702 "the store has another version";
    F0703 "the store is damaged";
    F0704 "the disk is full";
    F0705 "the run has a living owner";
    F0706 "the run was taken over";
    F0707 "run is not in the store";
    F0708 "run id is ambiguous";
    F0709 "content is missing or damaged";
    F0710 "the store is in use";
    F0711 "run archive is invalid";
    F0712 "the disk failed";
    F0801 "`phases` is not a list of phases";
    F0802 "phase name is missing, used twice or not usable";
    F0803 "unknown phase in `depends_on`";
    F0804 "phases depend on each other in a cycle";
    F0805 "phase has neither `inline` nor `subagents`, or both";
    F0806 "unknown agent type";
    F0807 "sub-skill is missing or outside of the skill";
    F0808 "two concurrent writers of one variable";
    F0809 "variable is never set";
    F0810 "template does not parse";
    F0811 "variable name breaks a rule or is reserved";
    F0812 "limit of phases exceeded";
    F0813 "field of a phase has the wrong type";
    F0814 "unknown key in a phase";
    F0815 "parallel subagents read each other's outputs";
    F0816 "script has no entry point";
    F0817 "template cannot be filled";
    F0818 "result of a subagent cannot be read";
    F0901 "script of a skill cannot be run";
    F0902 "process could not be started";
    F0903 "script failed";
    F0904 "script exceeded a limit";
    F0905 "commands cannot be closed in";
    F1101 "unknown tool in an agent file";
    F1102 "two agents of one name";
    F1103 "executor of an agent is not usable";
    F1104 "agent has no instructions";
    F1105 "agent file asks for more than a file can grant";
    F1201 "orchestrator has no list of allowed skills";
    F1202 "list of allowed skills is empty";
    F1203 "entry of a skill list is not a name";
    F1204 "skill of a list is not installed";
    F1205 "orchestrator calls itself";
    F1206 "session is neither `loop` nor `sop`";
    F1207 "two sections for one field";
    F1208 "section of an orchestrator is not read";
    F1209 "SOP program does not parse";
    F1210 "variables of a SOP program do not fit together";
    F1211 "unknown command in a SOP program";
    F1212 "policy keeps an orchestrator from a skill it lists";
    F1213 "skill of an orchestrator cannot be called";
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Code {
    type Err = ();

    /// Reads `F0107`, `f0107` or `107`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.trim_start_matches(['F', 'f']);
        let padded = format!("F{digits:0>4}");
        Self::ALL.iter().copied().find(|code| code.as_str() == padded).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_as_people_type_them() {
        for text in ["F0107", "f0107", "107", "0107"] {
            assert_eq!(text.parse(), Ok(Code::F0107));
        }
        assert_eq!("F9999".parse::<Code>(), Err(()));
    }
}
