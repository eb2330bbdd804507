/* SPDX-License-Identifier: Apache-2.0 */
/** git-brevis: finds the verb and runs it. */
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/cli/command.h"
#include "filter/cli/interrupt.h"
#include "filter/cli/report.h"

const struct command commands[] = {
	{"", NULL, "set up", NULL},
	{"install",
	 "install [--local | --worktree | --system | --file F] [--force] [--skip-smudge]\n"
	 "                          [--multipart] [--skip-repo] [--manual]",
	 "set up git-brevis for this user, and the hooks of this repository", verb_install},
	{"uninstall", "uninstall [--local | --worktree | --system | --file F] [--skip-repo]",
	 "undo what install did", verb_uninstall},
	{"track", "track [--json] | [--no-guard] [--filename] PATTERN...",
	 "keep files as compressed archives from now on, or list what is kept so", verb_track},
	{"untrack", "untrack [--filename] PATTERN...", "stop keeping files as compressed archives",
	 verb_untrack},
	{"migrate",
	 "migrate import [--from raw|lfs|any] [--above SIZE] [PATTERN...]\n"
	 "       git brevis migrate export [--to raw|lfs] [PATTERN...]",
	 "move files between raw blobs, Git LFS and archives, in a new commit", verb_migrate},
	{"env", "env", "show the settings and places in force", verb_env},
	{"", NULL, "work files and their objects", NULL},
	{"status", "status [--porcelain [-z] | --json] [PATH...]",
	 "say which files are compressed, missing or stored raw", verb_status},
	{"ls-files", "ls-files [-l] [-s] [-n] [-z] [--json] [REVISION] [PATH...]",
	 "list the files that git-brevis keeps", verb_ls_files},
	{"stats", "stats [--all] [--summary] [--json] [REVISION | A..B]... [PATH...]",
	 "say what the history has stored, and what each revision added", verb_stats},
	{"diff",
	 "diff A B [--json] | diff [--json] [--cached] [REVISION [REVISION]] [--] [PATH...]",
	 "show which tensors differ, and by how much", verb_diff},
	{"checkout", "checkout [--no-progress] [PATH...]",
	 "write work files whose objects are here", verb_checkout},
	{"pull", "pull [--no-progress] [REMOTE] [PATH...]",
	 "download missing objects and write their work files", verb_pull},
	{"export", "export [--force] [--no-fetch] DIR [REVISION] [PATH...]",
	 "write the files of a revision into a directory, models restored", verb_export},
	{"fsck",
	 "fsck [--objects] [--pointers] [--dry-run] [--json | -z] [REVISION | A..B]... [PATH...]",
	 "check objects and pointers", verb_fsck},
	{"", NULL, "objects without an LFS server", NULL},
	{"store", "store init URL | ls | verify | stats | gc [ARGUMENT...]",
	 "keep objects without an LFS server: in a directory, by SSH, WebDAV or S3", verb_store},
	{"", NULL, "archives, also without git", NULL},
	{"compress", "compress FILE|- [-o OUT] [-f] [-t THREADS] [--preset NAME]",
	 "make an archive of a file, without git", verb_compress},
	{"decompress", "decompress FILE|- [-o OUT] [-f] [-t THREADS]",
	 "restore a file from an archive, without git", verb_decompress},
	{"inspect", "inspect [--nodes | --json] FILE", "show what an archive is made of",
	 verb_inspect},
	{"verify", "verify [--json] FILE... | verify [--all] [--json] [REVISION | A..B]...",
	 "prove that archives restore what they promise", verb_verify},
	{"", NULL, "about git-brevis", NULL},
	{"version", "version", "print the version", verb_version},
	{"help", "help [-a] [VERB]", "list the verbs, or open the manual page of one", verb_help},
	{"", NULL, COMMANDS_PLUMBING, NULL},
	{"pointer", "pointer FILE | pointer --check FILE",
	 "print the pointer that git would store for a file", verb_pointer},
	{"clean", "clean [PATH] <CONTENT", "git's clean filter for one file", verb_clean},
	{"smudge", "smudge [PATH] <POINTER", "git's smudge filter for one file", verb_smudge},
	{"filter-process", "filter-process", "git's filter for many files", verb_filter_process},
	{"diff-driver",
	 "diff-driver PATH [OLD-FILE OLD-HEX OLD-MODE NEW-FILE NEW-HEX NEW-MODE [NEW-PATH NOTE]]",
	 "git's diff driver, for one file", verb_diff_driver},
	{"textconv", "textconv FILE", "the text that git shows for a model", verb_textconv},
	{"merge-driver", "merge-driver [--tensors] BASE OURS THEIRS MARKER-SIZE PATH",
	 "git's merge driver for one file", verb_merge_driver},
	{"transfer", "transfer [--multipart]", "git-lfs's agent for stores", verb_transfer},
	{"hook", "hook NAME [ARGUMENT...]", "what git's hooks run", verb_hook},
	{NULL, NULL, NULL, NULL}};

static const struct command *find(const char *name)
{
	/* What other programs taught people to type. */
	if (command_question(name))
		name = "help";
	else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	return command_find(commands, name);
}

/* A reader that went away and a full quota become errors of the write, which then cleans up. And
 * whatever our parent ignores, we want to hear of our own children. */
static void arrange_signals(void)
{
	struct sigaction action = {.sa_handler = SIG_IGN};

	sigemptyset(&action.sa_mask);
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
	action.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &action, NULL);
	interrupt_install();
}

/* git before 2.40 tells its children so where a submodule lies in the repository above, and its own
 * commands that do not know what to do with it refuse to run: those that we, and git-lfs, ask. */
static void arrange_environment(void)
{
	unsetenv("GIT_INTERNAL_SUPER_PREFIX");
}

/*
 * Buffers of megabytes come and go with every tensor. Memory that was given back to the system
 * comes again page by page, each cleared on its first touch: keeping it saves a tenth of the
 * processor's time. What is kept at most was in use at the same time before.
 */
static void arrange_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

/* True if nobody reads our output any more. */
static bool reader_is_gone(void)
{
	struct pollfd output = {.fd = STDOUT_FILENO};

	return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int main(int argc, char **argv)
{
	const struct command *command;
	int code;

	arrange_signals();
	arrange_memory();
	arrange_environment();
	if (argc < 2) {
		return verb_help(command_find(commands, "help"), 0, argv);
	}
	command = find(argv[1]);
	if (!command)
		return command_unknown(commands, argv[1]);
	code = command->run(command, argc - 1, argv + 1);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		/* Who reads the first lines only and leaves (`| head`) wants to hear nothing more.
		 */
		if (reader_is_gone())
			return 128 + SIGPIPE;
		report_error("cannot write standard output: %m; make room where it goes");
		return EXIT_FATAL;
	}
	return code;
}
