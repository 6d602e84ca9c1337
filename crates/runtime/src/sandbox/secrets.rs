//! Where people and programs keep what nobody else should read. One table; a new place is a new row.

use std::path::{Path, PathBuf};

/// Beneath the home directory.
const OF_A_PERSON: &[&str] = &[
    // keys
    ".ssh",
    ".gnupg",
    ".pki",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".config/sops",
    ".config/age",
    ".config/op",
    ".vault-token",
    // clouds
    ".aws",
    ".azure",
    ".oci",
    ".kube",
    ".docker",
    ".fly",
    ".boto",
    ".s3cfg",
    ".databrickscfg",
    ".config/gcloud",
    ".config/doctl",
    ".config/rclone",
    ".config/containers",
    ".terraform.d",
    ".terraformrc",
    // repositories of code and packages
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pip",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".nuget/NuGet",
    // databases
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    // models
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".huggingface/token",
    ".cache/huggingface/token",
    ".config/openai",
    ".config/anthropic",
    // what was typed, often with a password in it
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".psql_history",
    ".mysql_history",
    // cookies and mail
    ".mozilla",
    ".thunderbird",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/Slack",
    "snap/firefox",
    "Library/Keychains",
    "Library/Cookies",
];

/// Of the machine. Permissions guard most of these already, but not from root, who runs everything in a container.
const OF_THE_MACHINE: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/ssh",
    "/etc/kubernetes",
    "/run/secrets",
    "/var/lib/docker",
    "/var/lib/kubelet",
];

/// All of them, for the person with this home directory, and for root.
pub(super) fn of(home: Option<&Path>) -> Vec<PathBuf> {
    let homes = home.into_iter().chain([Path::new("/root")]);
    let of_people = homes.flat_map(|home| OF_A_PERSON.iter().map(|place| home.join(place)));
    of_people.chain(OF_THE_MACHINE.iter().map(PathBuf::from)).collect()
}
