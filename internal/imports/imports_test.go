// Package imports holds the table of which package may know which.
package imports

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport lists, for every package of the module, the packages of the module
// that it may import. Adding a package means adding a line here, but for a tool:
// "tools/*" stands for those below tools without a line of their own. "*" is for the
// places that wire everything together.
var mayImport = map[string][]string{
	"chat":                      {},
	"chat/markdown":             {"chat"},
	"chat/outbox":               {"chat", "chat/bounded"},
	"chat/catchup":              {"chat", "chat/bounded"},
	"chat/inbound":              {},
	"chat/intake":               {"chat", "chat/picture"},
	"chat/picture":              {"chat"},
	"chat/bounded":              {},
	"chat/retry":                {},
	"chat/summary":              {"chat"},
	"chat/form":                 {"chat", "chat/bounded"},
	"chat/patience":             {},
	"chat/question":             {"chat"},
	"chat/vocabulary":           {},
	"chat/when":                 {},
	"llm":                       {},
	"llm/args":                  {"llm"},
	"llm/tokens":                {},
	"llm/openai":                {"llm", "llm/thought", "setting"},
	"llm/thought":               {},
	"llm/queue":                 {"llm"},
	"llm/demo":                  {"llm"},
	"memory":                    {"chat", "chat/when", "llm"},
	"internal/storetest":        {"chat", "llm", "memory"},
	"memory/audit":              {"chat", "memory"},
	"memory/factor":             {"memory"},
	"memory/person":             {"chat", "memory"},
	"memory/transfer":           {"memory"},
	"memory/recent":             {"chat", "memory"},
	"memory/sqlite":             {"chat", "memory", "memory/recent"},
	"memory/redis":              {"chat", "memory", "memory/recent"},
	"agent":                     {"agent/approval", "agent/do", "agent/facts", "agent/phrase", "agent/policy", "agent/prompt", "agent/schedules", "agent/speak", "agent/strategy", "agent/taint", "agent/thread", "agent/view", "agent/words", "chat", "chat/question", "chat/vocabulary", "chat/when", "llm", "llm/args", "memory"},
	"agent/thread":              {"chat", "chat/question", "chat/vocabulary", "chat/when", "llm/args", "memory"},
	"agent/policy":              {"agent/thread", "chat", "chat/when", "edits", "llm", "llm/args", "memory", "tools/find"},
	"agent/phrase":              {"agent/speak", "agent/thread", "chat"},
	"agent/strategy":            {"agent/thread", "memory"},
	"agent/taint":               {"agent/phrase", "agent/policy", "agent/thread", "chat", "memory"},
	"agent/approval":            {"agent/phrase", "agent/policy", "agent/taint", "agent/thread", "chat", "llm/args", "memory"},
	"agent/do":                  {"agent/approval", "chat", "llm", "memory"},
	"agent/schedules":           {"agent/do", "agent/phrase", "agent/policy", "agent/thread", "chat", "chat/when", "llm", "llm/args", "memory"},
	"agent/words":               {"agent/approval", "agent/do", "agent/phrase", "agent/policy", "agent/prompt", "agent/schedules", "agent/speak", "agent/thread", "agent/view", "chat", "chat/vocabulary", "memory"},
	"agent/facts":               {"agent/do", "agent/phrase", "agent/policy", "agent/prompt", "agent/thread", "chat", "chat/vocabulary", "llm", "llm/args", "memory"},
	"agent/prompt":              {"agent/phrase", "agent/speak", "agent/strategy", "agent/taint", "agent/thread", "chat", "llm", "memory"},
	"agent/view":                {"agent/approval", "agent/phrase", "agent/policy", "agent/speak", "agent/strategy", "agent/taint", "agent/thread", "chat", "chat/question", "llm", "llm/args", "memory"},
	"agent/speak":               {"llm", "llm/args", "llm/thought"},
	"agent/incidents":           {"agent/phrase", "chat", "memory"},
	"agent/run/keeper":          {"agent/incidents", "chat", "memory"},
	"agent/run":                 {"agent", "agent/approval", "agent/do", "agent/facts", "agent/policy", "agent/schedules", "agent/view", "agent/words", "chat", "chat/bounded", "chat/patience", "chat/picture", "llm", "memory", "memory/person"},
	"spending":                  {"chat", "llm", "memory"},
	"setting":                   {},
	"mask":                      {},
	"edits":                     {},
	"trace":                     {"chat", "llm", "memory"},
	"trace/otlp":                {"trace"},
	"tools":                     {"chat", "llm", "llm/args", "setting"},
	"tools/web":                 {"tools"},
	"tools/document":            {"llm/queue", "tools"},
	"internal/tooltest":         {"chat", "llm", "tools"},
	"tools/*":                   {"chat", "chat/bounded", "edits", "llm", "llm/args", "setting", "tools", "tools/document", "tools/web"},
	"tools/find":                {"llm"},
	"tools/mcp":                 {"chat", "chat/patience", "chat/question", "llm", "llm/args", "setting", "tools", "tools/mcp/wire"},
	"tools/mcp/wire":            {},
	"front":                     {"chat", "chat/bounded", "chat/catchup", "chat/form", "chat/inbound", "chat/intake", "chat/markdown", "chat/outbox", "chat/retry", "chat/summary"},
	"adapters/terminal":         {"chat", "chat/form", "chat/intake", "chat/markdown", "chat/outbox", "chat/summary", "front"},
	"adapters/slack/layout":     {"adapters/slack/api", "chat", "chat/bounded", "chat/form", "chat/markdown", "chat/summary", "front"},
	"adapters/slack/api":        {"chat", "chat/bounded", "chat/form", "chat/inbound", "chat/intake", "chat/outbox", "front"},
	"adapters/slack":            {"adapters/slack/api", "adapters/slack/layout", "chat", "chat/bounded", "chat/catchup", "chat/form", "chat/inbound", "chat/intake", "chat/markdown", "chat/outbox", "chat/retry", "chat/summary", "front"},
	"adapters/slack/setup":      {"adapters/slack", "adapters/slack/api", "adapters/slack/layout", "chat", "chat/outbox", "front"},
	"adapters/web":              {"adapters/web/door", "chat", "chat/form", "chat/inbound", "chat/intake", "chat/markdown", "chat/outbox", "chat/summary", "front"},
	"adapters/discord/gateway":  {"chat/inbound", "chat/retry"},
	"adapters/discord/api":      {"adapters/discord/gateway", "chat", "chat/intake", "chat/markdown", "chat/outbox", "chat/retry", "front"},
	"adapters/discord/atlas":    {"adapters/discord/api", "chat", "chat/bounded", "chat/outbox"},
	"adapters/discord/dialect":  {"adapters/discord/api", "chat", "chat/inbound", "chat/markdown"},
	"adapters/discord/layout":   {"adapters/discord/api", "adapters/discord/dialect", "chat", "chat/form", "chat/markdown", "chat/summary", "front"},
	"adapters/discord":          {"adapters/discord/api", "adapters/discord/atlas", "adapters/discord/commands", "adapters/discord/dialect", "adapters/discord/gateway", "adapters/discord/layout", "adapters/discord/people", "chat", "chat/bounded", "chat/catchup", "chat/form", "chat/inbound", "chat/intake", "chat/markdown", "chat/outbox", "chat/retry", "chat/summary", "chat/vocabulary", "front"},
	"adapters/discord/people":   {"adapters/discord/api", "adapters/discord/atlas", "chat", "chat/bounded", "chat/outbox", "front"},
	"adapters/discord/commands": {"adapters/discord/api", "chat/outbox", "chat/vocabulary"},
	"adapters/discord/setup":    {"adapters/discord", "adapters/discord/api", "adapters/discord/atlas", "adapters/discord/gateway", "chat", "chat/outbox", "chat/summary", "front"},
	"lab":                       {"agent", "agent/approval", "agent/do", "agent/facts", "agent/phrase", "agent/thread", "agent/view", "chat", "edits", "llm", "llm/args", "memory"},
	"cmd/bot":                   {"*"},
	"cmd/bot/machine":           {},
	"cmd/bot/meter":             {"agent/policy", "agent/view", "chat", "chat/inbound", "llm", "llm/queue", "memory"},
	"cmd/bot/control":           {},
	"cmd/bot/config":            {"agent/policy", "chat", "edits", "llm/args", "llm/tokens", "memory", "setting", "tools", "tools/*", "tools/mcp"},
	"cmd/bot/hooks":             {"agent/incidents", "agent/policy", "cmd/bot/config"},
	"internal/imports":          {},
	"internal/work":             {},
	"internal/script":           {"*"},
	"internal/crash":            {"*", "agent/thread"},
	"internal/redistest":        {},
	"internal/volatile":         {},
	"internal/parallel":         {},
	"internal/skips":            {},
	"internal/sim":              {"*"},
	"internal/sim/simulate":     {"*"},
	"internal/sim/mutate":       {"*"},
	"internal/ledger":           {"chat"},
	"internal/hostile":          {},
	"internal/attack":           {"*"},
	"internal/attack/replay":    {"*"},
	"internal/fakeslack":        {"chat"},
	"internal/fakellm":          {},
	"internal/fakeotlp":         {},
	"internal/fakediscord":      {},

	"adapters/web/door": {},
	"internal/doortest": {},
	"adapters/operator": {"adapters/web/door", "agent", "agent/do", "agent/facts", "agent/run", "agent/view", "chat", "chat/bounded", "chat/summary", "llm", "memory", "spending"},
}

// mayKnow lists who may import a library of a platform, a provider or a store.
// Their types stop there.
var mayKnow = map[string][]string{
	"github.com/slack-go/slack":              {"adapters/slack", "adapters/slack/api", "adapters/slack/layout", "adapters/slack/setup"},
	"github.com/bwmarrin/discordgo":          {"adapters/discord", "adapters/discord/api", "adapters/discord/atlas", "adapters/discord/gateway", "adapters/discord/layout", "adapters/discord/people", "adapters/discord/setup"},
	"github.com/sashabaranov/go-openai":      {"llm/openai"},
	"github.com/redis/go-redis/v9":           {"memory/redis", "internal/redistest"},
	"modernc.org/sqlite":                     {"memory/sqlite"},
	"github.com/go-json-experiment/json":     {"memory"},
	"github.com/pquerna/otp":                 {"memory/factor", "internal/crash"},
	"github.com/hanwen/go-fuse/v2":           {"internal/volatile"},
	"code.dny.dev/ssrf":                      {"tools/web"},
	"github.com/prometheus/client_golang":    {"cmd/bot", "cmd/bot/meter"},
	"github.com/modelcontextprotocol/go-sdk": {"tools/mcp"},
}

// pure are the packages that decide, and so touch nothing outside: no clock, no
// disk, no network, no goroutine.
var pure = []string{"agent", "agent/incidents", "agent/thread", "agent/policy", "agent/phrase", "agent/strategy", "agent/taint", "agent/approval", "agent/do", "agent/facts", "agent/prompt", "agent/schedules", "agent/view", "agent/words", "agent/speak", "chat", "chat/vocabulary", "llm", "llm/args", "llm/thought", "trace"}

// impure are what a pure package does not import.
var impure = []string{"net", "net/http", "os", "os/exec", "database/sql", "log", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "sync"}

// The sources keep to the tables, and every package is in them. Tests are
// free to import what they test with.
func TestImports(t *testing.T) {
	for pkg, imports := range sources(t) {
		allowed, known := mayImport[lineOf(pkg)]
		if !known {
			t.Errorf("%s is not in the table of imports: add a line for it", pkg)
			continue
		}
		for _, path := range imports {
			own, inside := strings.CutPrefix(path, "nod/")
			switch {
			case inside && !slices.Contains(allowed, own) && !slices.Contains(allowed, lineOf(own)) && !slices.Contains(allowed, "*"):
				t.Errorf("%s imports %s, which it may not know", pkg, path)
			case slices.Contains(pure, pkg) && slices.Contains(impure, path):
				t.Errorf("%s imports %s, but is to decide and nothing else", pkg, path)
			}
			checkLibrary(t, pkg, path)
		}
	}
}

// lineOf is the line that a package stands in.
func lineOf(pkg string) string {
	if _, own := mayImport[pkg]; !own && filepath.Dir(pkg) == "tools" {
		return "tools/*"
	}
	return pkg
}

func checkLibrary(t *testing.T, pkg, path string) {
	t.Helper()
	for library, users := range mayKnow {
		if (path == library || strings.HasPrefix(path, library+"/")) && !slices.Contains(users, pkg) {
			t.Errorf("%s imports %s; its types stop at %s", pkg, path, strings.Join(users, " and "))
		}
	}
}

// sources reads the imports of every package from its files. It reads them
// itself, since what a command prints may come from the cache of test results.
func sources(t *testing.T) map[string][]string {
	t.Helper()
	root := filepath.Join("..", "..")
	out := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "bin") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != root {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		out[pkg] = append(out[pkg], []string{}...)
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			out[pkg] = append(out[pkg], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
