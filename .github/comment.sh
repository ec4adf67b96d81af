#!/usr/bin/env bash
# Keeps one comment on pull request $NUMBER for MARK, with the text of FILE.
# Usage: .github/comment.sh FILE MARK
set -euo pipefail

mark="<!-- $2 -->"
body=$(mktemp)
{ echo "$mark"; cat "$1"; } > "$body"
comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
found=$(MARK=$mark gh api --paginate "$comments" \
    --jq '.[] | select(.user.type == "Bot" and (.body | startswith(env.MARK))) | .id' | head -n 1)
if [ -n "$found" ]; then
    gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$found" \
        --field body=@"$body"
else
    gh api --silent --method POST "$comments" --field body=@"$body"
fi
