// Package skips lists what the tests of this module may leave out: each line names a file,
// how often it may skip or shorten, why, and where that runs.
package skips

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where it runs whole. CI installs what `make deps` names.
const (
	deps   = "make test, after make deps"
	beside = "make test, where the file lies beside the checkout"
	inFull = "make test"
	long   = "make long"
)

// list has, by file, how many places skip or shorten, why, and where that runs whole.
var list = map[string]struct {
	places     int
	why, where string
}{
	"agent/numbered_test.go":                {1, "no recorded trajectories", beside},
	"agent/order_test.go":                   {1, "-short: fewer crowds", inFull},
	"agent/prompt_test.go":                  {1, "-short: fewer turns", inFull},
	"agent/run/bench_test.go":               {1, "no /proc: the memory of a benchmark", "make bench"},
	"agent/run/conversations_test.go":       {1, "-short: every fourth on Redis", inFull},
	"agent/speak/text_test.go":              {1, "an input of the fuzzer that is none", "make fuzz"},
	"adapters/slack/setup/setup_test.go":    {1, "no published schema", beside},
	"cmd/bot/attack_test.go":                {2, "no recorded attacks; -short, or raced: every eighth of them", beside},
	"cmd/bot/axe_test.go":                   {1, "no axe-core", deps},
	"cmd/bot/backup_test.go":                {1, "no redis-cli", deps},
	"cmd/bot/chat_linux_test.go":            {1, "no terminals", inFull},
	"cmd/bot/container_test.go":             {3, "no bwrap, or a kernel that forbids it", deps},
	"cmd/bot/everything_test.go":            {2, "without NOD_LONG, or no server-everything", long},
	"cmd/bot/load_scale_test.go":            {1, "needs a quiet machine", "make load"},
	"cmd/bot/load_test.go":                  {1, "needs a quiet machine", "make load"},
	"cmd/bot/meter/prometheus_test.go":      {2, "without NOD_LONG: a minute; no prometheus", long},
	"cmd/bot/page_test.go":                  {1, "no chromium", deps},
	"cmd/bot/pictures_test.go":              {1, "-short: in one scheme of colours", inFull},
	"cmd/bot/runbooks_linux_test.go":        {1, "a small disk can't be mounted", inFull},
	"cmd/bot/slack_load_test.go":            {4, "-short: as long as Slack's limits make it", inFull},
	"cmd/bot/slack_test.go":                 {1, "-short: half of the questions of TestSlackChaos", inFull},
	"cmd/bot/traces_test.go":                {2, "without NOD_LONG, or without a built internal/collector", long},
	"deploy/deploy_test.go":                 {2, "a program is missing", deps},
	"internal/crash/walk.go":                {2, "walks play a share of their points, and three under -short", long},
	"internal/crash/walk_test.go":           {2, "-short: a storm", inFull},
	"internal/fakediscord/contract_test.go": {3, "no discord-openapi.json", beside},
	"internal/fakeslack/contract_test.go":   {1, "no descriptions of methods", beside},
	"internal/redistest/redistest.go":       {2, "NOD_NO_REDIS is set by hand", deps},
	"internal/script/cards.go":              {1, "an input of the fuzzer that is none", "make fuzz"},
	"internal/sim/sim_test.go":              {2, "-short, or raced: fewer episodes", "make test, without the detector"},
	"internal/work/work.go":                 {4, "-short: none; of the adapters: minutes", long},
	"internal/volatile/disk_linux.go":       {1, "no /dev/fuse, or no right to mount", inFull},
	"llm/args/fuzz_test.go":                 {1, "no recorded exchanges", beside},
	"llm/openai/fuzz_test.go":               {1, "an input of the fuzzer that is none", "make fuzz"},
	"llm/openai/replay_test.go":             {1, "no recordings", beside},
	"memory/audit/tamper_test.go":           {1, "fewer tries", long},
	"memory/transfer/killed_test.go":        {1, "without NOD_LONG: minutes", long},
	"memory/redis/redis_test.go":            {4, "-short: several servers; without NOD_LONG: minutes", long},
	"internal/storetest/deadlines.go":       {2, "SQLite serves one process", inFull},
	"internal/storetest/once.go":            {1, "SQLite serves one process", inFull},
	"internal/storetest/runs.go":            {1, "SQLite serves one process", inFull},
	"internal/storetest/threads.go":         {1, "a store that lists no threads", inFull},
	"memory/sqlite/disk_linux_test.go":      {1, "a small disk can't be mounted", inFull},
	"memory/sqlite/flush_test.go":           {1, "-short: fewer rounds", inFull},
	"tools/chart/chart_test.go":             {1, "an input of the fuzzer that is none", "make fuzz"},
	"tools/python/python_test.go":           {1, "the kernel forbids the sandbox", deps},
	"tools/wikipedia/wikipedia_test.go":     {1, "an input of the fuzzer that is none", "make fuzz"},
}

var place = regexp.MustCompile(`\b[tb]\.Skip(f|Now)?\(|testing\.Short\(\)|Getenv\("NOD_(LONG|NO_REDIS)"\)`)

// The list names each place that skips, and nothing else.
func TestSkips(t *testing.T) {
	found, want := map[string]int{}, map[string]int{}
	for file, l := range list {
		want[file] = l.places
	}
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case filepath.Ext(path) != ".go", path == "internal/skips/skips_test.go":
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if n := len(place.FindAll(text, -1)); n > 0 {
			found[path] = n
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("places that skip (-list +found):\n%s", diff)
	}
}
