#!/usr/bin/env bash
# The static site of these pages, by mkdocs.
#
#   build.sh SOURCE WORK    the site is WORK/site, what mkdocs reads WORK/source
#
# In the repository a page may link to any file. On the site README.md is the first page, CONTRIBUTING.md and CHANGELOG.md are pages, and
# other files that are linked lie under files/; a link to a folder becomes its name.
set -euo pipefail
source=$(cd -- "$1" && pwd) work=$2
rm -rf "$work"
mkdir -p "$work/source"
work=$(cd -- "$work" && pwd)

# Standard input is a page whose links to files of the repository are relative to PREFIX of its root.
page() {
  local prefix=$1 text link file
  text=$(cat)
  while IFS= read -r link; do
    file=${link#"$prefix"}
    file=${file%%#*}
    case $link in http://* | https://* | '#'* | "$prefix"README.md* | "$prefix"CONTRIBUTING.md* | "$prefix"CHANGELOG.md*) continue ;; esac
    [[ -z $prefix || $link == "$prefix"* ]] || continue
    [[ -n $prefix || $link != docs/* ]] || continue
    [ -e "$source/$file" ] || continue # code that looks like a link
    if [ -d "$source/$file" ]; then
      text=${text//"]($link)"/]}
    else
      mkdir -p "$work/source/files/$(dirname "$file")"
      cp "$source/$file" "$work/source/files/$file"
      text=${text//"]($link)"/"](files/$file)"}
    fi
  done < <(grep -oE '\]\([^)]+\)' <<<"$text" | sed -e 's/^](//' -e 's/)$//' | sort -u)
  printf '%s\n' "$text"
}

# A block "```cpp NAME" is "```cpp": the name is for the tests.
blocks() { sed -E 's/^(```[a-z]+) .*$/\1/'; }

for name in README CONTRIBUTING CHANGELOG; do
  page "" <"$source/$name.md" | blocks | sed -e 's/](docs\//](/g' -e 's/](README.md)/](contents.md)/g' >"$work/source/$name.md"
done
mv "$work/source/README.md" "$work/source/index.md"
for file in "$source"/docs/*.md; do
  name=$(basename "$file")
  [ "$name" != README.md ] || name=contents.md
  page ../ <"$file" | blocks | sed -e 's/](\.\.\/README\.md/](index.md/g' -e 's/](\.\.\/\(CONTRIBUTING\|CHANGELOG\)\.md/](\1.md/g' -e 's/](README\.md/](contents.md/g' >"$work/source/$name"
done
# What is not a page: pictures and the like.
find "$source/docs" -mindepth 1 -maxdepth 1 -type d ! -name site -exec cp -r {} "$work/source/" \;
sed -e "s|@source@|$work/source|" -e "s|@site@|$work/site|" "$source/docs/site/mkdocs.yml" >"$work/mkdocs.yml"
mkdocs build --strict --quiet --config-file "$work/mkdocs.yml"
