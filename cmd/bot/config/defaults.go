package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Risks is the risk of a server's tools, by pattern on their names.
type Risks map[string]Risk

// noParameters is the schema of a command that takes no arguments.
const noParameters = `{"type":"object","properties":{},"additionalProperties":false}`

// defaults is what an empty file means.
func defaults() *Config {
	return &Config{
		Store: Store{Kind: SQLite, Path: "nod.db", show: "sqlite:nod.db"},
		LLM: LLM{
			BaseURL:   "https://api.openai.com/v1",
			Model:     "gpt-5-mini",
			Protocol:  ProtocolTools,
			Strategy:  StrategyReact,
			MaxSteps:  12,
			Timeout:   120 * time.Second,
			MaxOutput: 256 << 10,
			Stream:    true,
			Images:    ImagesAuto,
		},
		Agent:  Agent{Instructions: "You are a helpful colleague.\n", Taint: TaintAsk, Retries: 1},
		Memory: Memory{BudgetTokens: 16000, IdleReset: 12 * time.Hour, Keep: 720 * time.Hour, Files: Files{Thread: 256 << 20, All: 8 << 30}},
		Audit:  Audit{Key: "nod.key"},
		Approvals: Approvals{
			Timeout:   30 * time.Minute,
			Approvers: []string{"requester"},
			Quorum:    1,

			ExcludeRequester: ExcludeNobody,

			Approve:   []string{"✅", "👍"},
			Buttons:   true,
			Notify:    []string{notifyMention},
			Deny:      []string{"❌", "👎"},
			RunWithin: 24 * time.Hour,
		},
		lines: map[string]int{},
	}
}

// Default is the configuration of `bot chat` without a file: the demo model,
// the calculator and the clock, and a store in the user's state directory.
// getenv nil is os.LookupEnv. Without any home the store is in the current
// directory.
func Default(getenv func(string) (string, bool)) *Config {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	c := defaults()
	c.Store = sqliteAt(filepath.Join(stateDir(getenv), "nod.db"))
	c.Audit.Key = filepath.Join(stateDir(getenv), "nod.key")
	c.Tools.Calculator, c.Tools.Clock = withDefaults[Plain](c.Approvals), withDefaults[Plain](c.Approvals)
	return c
}

// stateDir is nod's folder for state, by the XDG base directory specification:
// $XDG_STATE_HOME when it is absolute, else ~/.local/state.
func stateDir(getenv func(string) (string, bool)) string {
	if dir, _ := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "nod")
	}
	if home, _ := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "nod")
	}
	return "."
}

func sqliteAt(path string) Store { return Store{Kind: SQLite, Path: path, show: "sqlite:" + path} }

// withDefaults makes a section as it is when only its key is written.
func withDefaults[T any](a Approvals) *T {
	p := new(T)
	fill(p, a)
	return p
}

// fill sets the defaults of a section. A tool asks, unless its own defaults say
// otherwise.
func fill(p any, a Approvals) {
	if t, ok := p.(interface{ ruled() *ToolRules }); ok {
		*t.ruled() = ToolRules{Risk: RiskAsk, Approvals: a, For: []string{"everyone"}}
	}
	if s, ok := p.(interface{ setDefaults() }); ok {
		s.setDefaults()
	}
}

// ruled gives the rules of any tool that holds them.
func (r *ToolRules) ruled() *ToolRules { return r }

func (s *Slack) setDefaults() {
	*s = Slack{
		APIURL: "https://slack.com/api/", Sockets: 2, Follow: FollowCallers, DM: DMThread,
		External: TrustIgnore, Guests: TrustAsk, Allow: []string{"everyone"},
	}
}

func (s *Discord) setDefaults() {
	*s = Discord{APIURL: "https://discord.com/api", Commands: true, Follow: FollowAuto, Allow: []string{"everyone"}}
}

func (h *HTTP) setDefaults() { h.Listen = "127.0.0.1:8080" }

func (t *Traces) setDefaults() { t.OTLP = "http://127.0.0.1:4318" }

func (t *Plain) setDefaults() { t.Risk = RiskAuto }

func (t *Wikipedia) setDefaults() { t.Risk, t.Language = RiskAuto, "en" }

func (t *Fetch) setDefaults() { t.Risk = RiskAuto }

func (t *Search) setDefaults() { t.Risk, t.Provider = RiskAuto, ProviderSearxng }

func (t *Python) setDefaults() { t.Risk, t.Timeout, t.Memory = RiskAuto, 20*time.Second, 512<<20 }

func (t *Image) setDefaults() { t.Model = "gpt-image-1" }

func (t *Command) setDefaults() {
	t.Parameters, t.Cwd, t.Output = json.RawMessage(noParameters), ".", OutputText
	t.Timeout, t.PreviewRequired = 30*time.Second, true
}

func (t *MCP) setDefaults() {
	t.Risk, t.Tools, t.Timeout, t.For = Risks{"*": RiskAsk}, []string{"*"}, 60*time.Second, []string{"everyone"}
}

// resolve finishes a configuration that is right: paths become absolute by the
// file's folder, addresses get the form that their users want, and emoji their
// normal one.
func (c *Config) resolve(dir string) {
	if c.Store.Kind == SQLite && !filepath.IsAbs(c.Store.Path) {
		c.Store = sqliteAt(filepath.Join(dir, c.Store.Path))
	}
	if !filepath.IsAbs(c.Audit.Key) {
		c.Audit.Key = filepath.Join(dir, c.Audit.Key)
	}
	c.LLM.BaseURL = strings.TrimRight(c.LLM.BaseURL, "/")
	if c.Slack != nil {
		c.Slack.APIURL = strings.TrimRight(c.Slack.APIURL, "/") + "/"
	}
	if c.Discord != nil {
		c.Discord.APIURL = strings.TrimRight(c.Discord.APIURL, "/")
	}
	if w := c.Tools.Wikipedia; w != nil && w.APIURL == "" {
		w.APIURL = "https://" + w.Language + ".wikipedia.org/w/api.php"
	}
	if s := c.Tools.Search; s != nil && s.APIURL == "" {
		s.APIURL = searchURLs[s.Provider]
	}
	for i := range c.Tools.Commands {
		t := &c.Tools.Commands[i]
		t.Cwd = absolute(dir, t.Cwd)
		if len(t.Argv) > 0 && strings.Contains(t.Argv[0], "/") {
			t.Argv[0] = absolute(dir, t.Argv[0])
		}
		if len(t.Preview) > 0 && strings.Contains(t.Preview[0], "/") {
			t.Preview[0] = absolute(dir, t.Preview[0])
		}
	}
	for i := range c.Tools.MCP {
		if argv := c.Tools.MCP[i].Command; len(argv) > 0 && strings.Contains(argv[0], "/") {
			argv[0] = absolute(dir, argv[0])
		}
	}
	for _, r := range c.rules() {
		r.approvals.Approve = distinct(normal(r.approvals.Approve))
		r.approvals.Deny = distinct(normal(r.approvals.Deny))
	}
}

// searchURLs are the services that have an address of their own.
var searchURLs = map[Provider]string{
	ProviderBrave:  "https://api.search.brave.com/res/v1/web/search",
	ProviderTavily: "https://api.tavily.com/search",
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
