#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The picture of the README is what scripts/picture makes of what was measured.
BREVIS_TEST_NO_INSTALL=1
# shellcheck source=../support/lib.sh
. "$(dirname "$0")/../support/lib.sh"

check 'docs/picture.svg is that of docs/measured/picture.tsv' "$TOP/scripts/picture" --check
check 'it is XML' "$PYTHON" -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$TOP/docs/picture.svg"
contains 'it has words for who does not see it' "$TOP/docs/picture.svg" '<desc id="description">git-brevis saves: BF16 '
is 'it brings nothing from elsewhere' "$(grep -cE 'href|@import|<image|<script' "$TOP/docs/picture.svg")" 0

# Other figures make another picture, and a missing one none.
must mkdir -p tree/scripts tree/docs/measured
must cp "$TOP/scripts/picture" tree/scripts/
must cp "$TOP/docs/measured/picture.tsv" tree/docs/measured/
must cp "$TOP/docs/picture.svg" tree/docs/
sed -i '/^BF16\tbrevis\t/s/\t[0-9]*$/\t1/' tree/docs/measured/picture.tsv
run tree/scripts/picture --check
exits 1 'a changed figure shows'
contains 'with what to do' "$T/err" 'run scripts/picture'
check 'it is drawn' tree/scripts/picture
check 'and then holds' tree/scripts/picture --check
sed -i '/^F32\txz -6\t/d' tree/docs/measured/picture.tsv
run tree/scripts/picture
exits 1 'a missing figure is told'
contains 'by its name' "$T/err" 'lacks xz -6'

done_testing
