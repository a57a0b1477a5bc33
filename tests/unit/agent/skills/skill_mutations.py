"""Guards of skills, each with the mutation that removes it."""

from __future__ import annotations

from tests.harness.mutation import Mutation

ARCHIVE, SOURCES, GIT = "agent/skills/archive.py", "agent/skills/sources.py", "agent/skills/git_source.py"
SCAN, VARIABLES = "agent/skills/scan.py", "agent/sandbox/variables.py"
CHANGES = "bot/commands/skill_changes.py"
UNIT = "tests/unit/agent/skills"
INSTALLING, FETCHING, SCANNING = (
    f"{UNIT}/test_install.py",
    f"{UNIT}/test_git_source.py",
    f"{UNIT}/test_scan.py",
)
ENVIRONMENT, CHAT = "tests/sandbox/test_environment.py", "tests/component/dispatch/test_skill_changes.py"

SKILL_MUTATIONS = (
    Mutation(
        "installation",
        "no path leads outside a skill's folder",
        ARCHIVE,
        'if ".." in parts or ".." in re.split(r"[/\\\\]", path):',
        "if False:",
        f"{INSTALLING}::test_a_path_that_leads_elsewhere",
    ),
    Mutation(
        "installation",
        "no absolute path in an archive",
        ARCHIVE,
        'if path.startswith(("/", "\\\\")) or re.match(r"[A-Za-z]:", path):',
        "if False:",
        f"{INSTALLING}::test_a_path_that_leads_elsewhere",
    ),
    Mutation(
        "installation",
        "no links or devices in an archive",
        ARCHIVE,
        "if kind not in {0, stat.S_IFREG, stat.S_IFDIR} or (kind == stat.S_IFDIR) > is_folder:",
        "if False:",
        f"{INSTALLING}::test_links_and_devices",
    ),
    Mutation(
        "installation",
        "no links in a repository",
        GIT,
        'if entry.mode not in {"100644", "100755", "100664"}:',
        "if False:",
        f"{FETCHING}::test_links_and_submodules_are_refused",
    ),
    Mutation(
        "installation",
        "a link in a copied folder is not followed",
        SOURCES,
        "found = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode",
        "found = os.stat(name, dir_fd=descriptor).st_mode",
        f"{UNIT}/test_history.py::test_a_folder_is_copied_without_version_control",
    ),
    Mutation(
        "installation",
        "a link in place of a skill's folder is not followed",
        "agent/skills/install.py",
        "if target.is_symlink() or (",
        "if (",
        f"{INSTALLING}::test_a_link_in_its_place_is_not_followed",
    ),
    Mutation(
        "installation",
        "no zip bombs",
        ARCHIVE,
        "if info.file_size > limits.ratio_from and info.file_size / packed > limits.ratio:",
        "if False:",
        f"{INSTALLING}::test_a_bomb_by_ratio",
    ),
    Mutation(
        "installation",
        "only https is fetched",
        GIT,
        'if match is None or match["protocol"] not in PROTOCOLS:',
        "if match is None:",
        f"{FETCHING}::test_only_https_without_credentials_is_fetched",
    ),
    Mutation(
        "installation",
        "the commit that was shown is installed",
        GIT,
        'commit = git.fetch(self.address, self.commit or self.reference or "HEAD")',
        'commit = git.fetch(self.address, self.reference or "HEAD")',
        f"{FETCHING}::test_a_commit_can_be_pinned",
    ),
    Mutation(
        "scan",
        "every line of every text file is looked at",
        SCAN,
        "if is_text:",
        "if is_text and program:",
        f"{SCANNING}::test_what_is_suspicious_is_found",
    ),
    Mutation(
        "scan",
        "the worst findings come first",
        SCAN,
        "sorted(found, key=lambda one: order[one.severity])",
        "found",
        f"{SCANNING}::test_the_worst_comes_first_and_the_rest_is_cut",
    ),
    Mutation(
        "secrets",
        "a skill's variables are only for its own commands",
        VARIABLES,
        "if places and re.search(path, command):",
        "if places:",
        f"{ENVIRONMENT}::test_commands_in_a_pod_get_them",
    ),
    Mutation(
        "secrets",
        "values of variables are masked in outputs",
        "agent/sandbox/folder.py",
        'output = output.replace(secret, "***")',
        "output = output",
        f"{UNIT}/test_prompt_section.py::test_values_of_secrets_never_reach_the_model",
    ),
    Mutation(
        "secrets",
        "variables cannot change which programs run",
        VARIABLES,
        'if name in RESERVED_VARIABLES or name.startswith(("LD_", "ROEBOT_")):',
        "if False:",
        f"{ENVIRONMENT}::test_variables_that_cannot_be_set",
    ),
    Mutation(
        "chat",
        "only owners of all accounts change skills",
        CHANGES,
        "if words[1].lower() != HISTORY and not call.may(Permission.PROGRAMS):",
        "if False:",
        f"{CHAT}::test_only_owners_change_skills",
    ),
    Mutation(
        "chat",
        "nothing is installed before its content was shown",
        CHANGES,
        "if len(more) > 1 or (confirmed and not commit):",
        "if len(more) > 1:",
        f"{CHAT}::test_what_changes_nothing",
    ),
    Mutation(
        "chat",
        "what a skill says of itself creates no links",
        CHANGES,
        "quoted(found.description, LONGEST_DESCRIPTION),",
        "found.description,",
        f"{CHAT}::test_what_changes_nothing",
    ),
)
