// Package config reads the one YAML file that configures nod: it fills in the
// environment, turns the text into plain structs with defaults, and reports
// everything that is wrong with it at once, each mistake with its line.
//
// Two things are held here and nowhere else. A mistake is found when the
// program starts, not when the setting is first used; and a secret has a type
// that prints as a redaction, so that no log line, error or dump of these
// structs can show it. No message of this package repeats a value of the file:
// it names the key, and says what to write instead.
package config

import (
	"cmp"
	"fmt"
	"time"

	"nod/agent/policy"
	"nod/setting"
	"nod/tools"
	"nod/tools/calculator"
	"nod/tools/chart"
	"nod/tools/clock"
	"nod/tools/command"
	"nod/tools/fetch"
	"nod/tools/image"
	"nod/tools/mcp"
	"nod/tools/python"
	"nod/tools/search"
	"nod/tools/skill"
	"nod/tools/wikipedia"
)

// Config is the whole file. What is absent has its default; a platform whose
// section is absent is nil, and off.
type Config struct {
	Store     Store             `yaml:"store" default:"sqlite:nod.db" doc:"Where threads are kept: sqlite:PATH, redis://[user:pass@]host:port/db, rediss://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/MASTER/db; rediss+… over TLS. Default sqlite:nod.db"`
	LLM       LLM               `yaml:"llm" doc:"The model that thinks"`
	Models    map[string]*Named `yaml:"models" doc:"Further models, by name; what is absent is as in llm, but one with a base_url of its own inherits neither api_key nor prices"`
	Skills    string            `yaml:"skills" doc:"A folder of skills, each a folder with a SKILL.md that the model can read; bot check --accept-skills pins them; empty: none"`
	Facts     Facts             `yaml:"facts" doc:"What people may write down for all threads of a channel; {}: off. Default {}"`
	Schedules Schedules         `yaml:"schedules" doc:"What people may have asked later, or again and again; {}: off. Default {}"`
	Rooms     []Room            `yaml:"channels" doc:"What is different in some channels; a thread inherits its channel"`
	Proxy     setting.Secret    `yaml:"proxy" schema:"proxy" doc:"An HTTP proxy for fetch, search and wikipedia; everything else follows HTTPS_PROXY and NO_PROXY. With it tools.fetch.allow must name hosts"`
	Agent     Agent             `yaml:"agent" doc:"How the agent behaves"`
	Slack     *Slack            `yaml:"slack" doc:"Connect to Slack; absent: off"`
	Discord   *Discord          `yaml:"discord" doc:"Connect to Discord; absent: off"`
	HTTP      *HTTP             `yaml:"http" doc:"Health and metrics over HTTP; absent: no listener"`
	Traces    *Traces           `yaml:"traces" doc:"Send spans of turns to a collector; absent: none"`
	Memory    Memory            `yaml:"memory" doc:"What a thread remembers, and for how long"`
	Alerts    []Alert           `yaml:"alerts" doc:"What starts a turn without a person; absent: nothing"`
	Limits    Limits            `yaml:"limits" doc:"What may be used up; absent: no limit"`
	Log       Log               `yaml:"log" doc:"The log of bot run"`
	Audit     Audit             `yaml:"audit" doc:"The audit log"`
	Approvals Approvals         `yaml:"approvals" doc:"Who approves risky calls, and how"`
	Tools     Tools             `yaml:"tools" doc:"What the agent can do; a built-in tool is on when its key is here"`

	shelf []skill.Skill
	files []setting.Secret // the content of files that it names
	file  string
	lines map[string]int // line of every key that the file writes, by its dotted path
}

// File is the path that the configuration was read from; empty for [Default].
func (c *Config) File() string { return c.file }

// Place is where the file has a key, as FILE:LINE; of a key that it does not write, its
// section, or the file's first line. It is empty for [Default].
func (c *Config) Place(key string) string {
	if c.file == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", c.file, lineOf(c.lines, key))
}

// Written says whether the file has the key, given as its dotted path such as
// "llm.base_url" or "tools.commands[0].stdin".
func (c *Config) Written(key string) bool {
	_, ok := c.lines[key]
	return ok
}

// Log is about the log of `bot run`.
type Log struct {
	Level Level `yaml:"level" reload:"yes" default:"info" doc:"debug, info, warn or error; --log-level goes before. Default info"`
}

// Audit is about the audit log, which is always kept.
type Audit struct {
	Key string `yaml:"key" schema:"filled" default:"nod.key" want:"must name a file, such as nod.key" doc:"The key that signs the audit log, made at the first start; all processes of a team need the same one. Default nod.key"`
}

// LLM is the first model.
type LLM struct {
	Endpoint `yaml:",inline"`
	Parallel int `yaml:"parallel" schema:"min=0,max=10000" doc:"Model calls at once, of the whole process; 0: no limit. Who waits is served in turn, a thread at a time, and waiting does not count for timeout. Default 0"`
}

// Named is a further model. People choose it by its name.
type Named struct {
	Endpoint `yaml:",inline"`
	For      []string `yaml:"for" schema:"asker,some" default:"[everyone]" want:"would let nobody have it; write everyone, user:ID, group:ID or role:ID, or remove the line" doc:"Whose turns it answers: everyone, user:ID, group:ID (Slack user group) or role:ID (Discord role). Default [everyone]"`
}

// Endpoint is the model's endpoint and how to speak with it.
type Endpoint struct {
	BaseURL     string         `yaml:"base_url" schema:"url" default:"https://api.openai.com/v1" doc:"Endpoint of an OpenAI-compatible API. Default https://api.openai.com/v1"`
	APIKey      setting.Secret `yaml:"api_key" reload:"yes" schema:"token" doc:"Key of the endpoint; may be absent for a local one"`
	Model       string         `yaml:"model" schema:"filled" default:"gpt-5-mini" want:"must name a model, such as gpt-5-mini" doc:"Name of the model. Default gpt-5-mini"`
	Protocol    Protocol       `yaml:"protocol" default:"tools" doc:"tools: native function calling; react: Thought/Action/Action Input text; numbered: Thought 1/Action 1: Search[x] text. Default tools"`
	Strategy    Strategy       `yaml:"strategy" default:"react" doc:"How a turn is thought through. Default react"`
	MaxSteps    int            `yaml:"max_steps" schema:"min=1,max=1000" default:"12" doc:"Model calls in one turn that may use tools. Default 12"`
	Timeout     time.Duration  `yaml:"timeout" schema:"positive" default:"120s" doc:"For one model call, from when it begins. Default 120s"`
	MaxOutput   setting.Size   `yaml:"max_output" default:"256KiB" schema:"min=1KiB,max=16MiB" doc:"Of text in one completion; what comes after is cut off. Default 256KiB"`
	Stream      bool           `yaml:"stream" default:"true" doc:"Take the answer as it is written. Default true"`
	Temperature *float64       `yaml:"temperature" schema:"min=0,max=2" want:"must be from 0 to 2; remove the line to leave it to the model" doc:"0 to 2; absent: not sent"`
	TopP        *float64       `yaml:"top_p" schema:"more=0,max=1" want:"must be more than 0 and at most 1; remove the line to leave it to the model" doc:"More than 0, up to 1; absent: not sent"`
	Images      Images         `yaml:"images" default:"auto" doc:"Whether the model takes images. Default auto"`
	Prices      *Prices        `yaml:"prices" doc:"Money per million tokens; absent: no cost is shown"`
	Fallback    []string       `yaml:"fallback" doc:"Names of models, tried in turn when this one is away. Default []"`
}

// Room is what is different in some channels. It only takes away from what the team has.
type Room struct {
	In               []string `yaml:"in" schema:"place,some" want:"must name a channel: write slack:ID or discord:ID" missing:"its channels, such as [slack:C0123ABCD]" doc:"slack:ID or discord:ID; a thread inherits its channel, a Discord thread or post its parent"`
	Instructions     string   `yaml:"instructions" doc:"What the model is told there too, behind the instructions of the section agent"`
	InstructionsFile string   `yaml:"instructions_file" schema:"filled" want:"must name a file, such as ops.md" doc:"A file with them, up to 64 KiB"`
	Model            string   `yaml:"model" doc:"A name of models: it answers there where people chose no other"`
	Tools            []string `yaml:"tools" schema:"globs" doc:"Names or patterns of the team's tools that are there; absent: all that are on"`
	Skills           []string `yaml:"skills" doc:"Names of the team's skills that are there; absent: all"`
	Approvals        Narrower `yaml:"approvals" doc:"Over those of the section and of each tool; stricter ones only"`
}

// Narrower is the rules of approvals that a room may make stricter. A key that it does not
// write is the team's, or the tool's own.
type Narrower struct {
	Timeout          time.Duration `yaml:"timeout" schema:"positive" doc:"As long as the team's, or shorter"`
	Approvers        []string      `yaml:"approvers" schema:"approver,some" want:"must name somebody: write requester, anyone, user:ID, group:ID or role:ID" doc:"Some of the team's; under anyone whoever"`
	Quorum           int           `yaml:"quorum" schema:"min=1" want:"must be at least 1" doc:"As many as the team's, or more"`
	ExcludeRequester Exclude       `yaml:"exclude_requester" default:"false" doc:"As strict as the team's, or stricter"`
	By               []Way         `yaml:"by" schema:"some" want:"must name at least one of reaction, button and word" doc:"Some of the team's"`
	Factor           Factor        `yaml:"factor" default:"none" doc:"code, or none where the team's is"`
	Grants           Grants        `yaml:"grants" doc:"As much as the team's, or less; {}: off"`
}

// Prices is money per million tokens.
type Prices struct {
	Input  float64 `yaml:"input" schema:"min=0" want:"must not be negative" missing:"money per million tokens, such as 0.25" doc:"Of the prompt"`
	Cached float64 `yaml:"cached" schema:"min=0" want:"must not be negative" doc:"Of what the provider had cached of the prompt; absent: as input"`
	Output float64 `yaml:"output" schema:"min=0" want:"must not be negative" missing:"money per million tokens, such as 0.25" doc:"Of what the model writes"`
}

// Agent is how the agent behaves.
type Agent struct {
	Instructions string    `yaml:"instructions" default:"\"You are a helpful colleague.\\n\"" doc:"What the model is told first"`
	Timezone     string    `yaml:"timezone" schema:"zone" doc:"Of the date that the model is told, such as Europe/Berlin; empty: the person's where the platform tells it, else UTC"`
	Examples     []Example `yaml:"examples" doc:"Exchanges shown to the model before the conversation"`
	Taint        Taint     `yaml:"taint" default:"ask" doc:"ask: while content from outside is in the prompt, calls that can change things or send data out need an approval. Default ask"`
	Retries      int       `yaml:"retries" schema:"min=0,max=100" default:"1" doc:"Further tries of the reflexion strategy. Default 1"`
}

// Example is one exchange that shows the model how to answer.
type Example struct {
	User      string `yaml:"user" missing:"what the person says" doc:"What the person says"`
	Assistant string `yaml:"assistant" missing:"what the agent answers" doc:"What the agent answers"`
}

// Slack is the connection to one Slack app, in Socket Mode.
type Slack struct {
	AppToken  setting.Secret `yaml:"app_token" schema:"app" missing:"the app-level token, which begins with xapp-" doc:"App-level token, xapp-…"`
	BotToken  setting.Secret `yaml:"bot_token" schema:"bot" missing:"the bot token, which begins with xoxb-" doc:"Bot token, xoxb-…"`
	APIURL    string         `yaml:"api_url" schema:"url" default:"https://slack.com/api/" doc:"Default https://slack.com/api/"`
	Sockets   int            `yaml:"sockets" schema:"min=1,max=10" default:"2" doc:"Connections of this process; Slack allows 10 in all. Default 2"`
	Follow    Follow         `yaml:"follow" default:"callers" doc:"callers: in a thread that it was called into, whoever has called it there needs no new mention; thread: nobody does; mentions: everybody does. Default callers"`
	DM        DM             `yaml:"dm" default:"thread" doc:"thread: each direct message opens a thread; flat: the DM is one conversation. Default thread"`
	Limits    map[string]int `yaml:"limits" doc:"Calls a minute by method, where a workspace has others than the published ones"`
	External  Trust          `yaml:"external" default:"ignore" doc:"People of other organisations (Slack Connect). ignore: they are not heard; ask: they may ask, never approve; allow: like everybody. Default ignore"`
	Guests    Trust          `yaml:"guests" default:"ask" doc:"Guest accounts of the own workspace, in the same words. Default ask"`
	Allow     []string       `yaml:"allow" schema:"on-slack,some" default:"[everyone]" want:"would let nobody be heard; write everyone, user:ID, group:ID or channel:ID" doc:"Who is heard: everyone, user:ID, group:ID or channel:ID. Default [everyone]"`
	Search    bool           `yaml:"search" doc:"The tool team_search: messages, with the eyes of who asks. Default false"`
	AllowBots []string       `yaml:"allow_bots" schema:"slack-bot" doc:"Ids of bots that it answers"`
}

// Discord is the connection of one Discord bot.
type Discord struct {
	Token     setting.Secret `yaml:"token" schema:"token" missing:"the bot's token" doc:"Bot token"`
	APIURL    string         `yaml:"api_url" schema:"url" default:"https://discord.com/api" doc:"The version path is added to it. Default https://discord.com/api"`
	Shards    Shards         `yaml:"shards" doc:"auto, or a number of gateway connections. Default auto"`
	Commands  bool           `yaml:"commands" default:"true" doc:"Register /ask, /stop and the other commands. Default true"`
	Limits    map[string]int `yaml:"limits" doc:"global: calls a second, where the bot has been given more than 50"`
	Guilds    []string       `yaml:"guilds" schema:"snowflake" doc:"Ids of the servers that are served; empty: those whose owner owns the app or is in its team, and all where the app is not public"`
	Allow     []string       `yaml:"allow" default:"[everyone]" schema:"on-discord,some" want:"would let nobody be heard; write everyone, user:ID, role:ID or channel:ID" doc:"Who is heard: everyone, user:ID, role:ID or channel:ID. Default [everyone]"`
	Follow    DiscordFollow  `yaml:"follow" default:"auto" doc:"callers: whoever has called it in a thread needs no new mention there; thread: nobody does; mentions: everybody does; auto: callers where the MESSAGE_CONTENT intent is on, else mentions. Default auto"`
	AllowBots []string       `yaml:"allow_bots" schema:"snowflake" doc:"Ids of bots that it answers"`
}

// HTTP is the listener for /healthz, /readyz and /metrics, and the operator's page.
type HTTP struct {
	Listen    string `yaml:"listen" schema:"listen" default:"127.0.0.1:8080" doc:"host:port. Default 127.0.0.1:8080"`
	Page      string `yaml:"page" schema:"loopback" doc:"A loopback address for the operator's page, such as 127.0.0.1:8081; empty: none"`
	PageTexts bool   `yaml:"page_texts" doc:"true: texts of conversations on the page, too. Default false"`
	Hooks     string `yaml:"hooks" schema:"hooks" doc:"host:port for the POSTs of alerts, such as 127.0.0.1:8082; empty: off"`
}

// Traces is where spans are sent.
type Traces struct {
	OTLP    string                    `yaml:"otlp" schema:"url" default:"http://127.0.0.1:4318" doc:"Address of a collector that takes OTLP over HTTP; /v1/traces is added. Default http://127.0.0.1:4318"`
	Headers map[string]setting.Secret `yaml:"headers" doc:"Sent with every request"`
	Content bool                      `yaml:"content" doc:"true: what people wrote, their ids, arguments, results and answers, too. Default false"`
}

// Memory configures a thread's memory.
type Memory struct {
	BudgetTokens int           `yaml:"budget_tokens" schema:"min=100" default:"16000" want:"must be at least 100, as less holds no conversation" doc:"What of a conversation is sent to the model, tool definitions included. Default 16000"`
	IdleReset    time.Duration `yaml:"idle_reset" default:"12h" doc:"A thread silent for longer starts afresh; 0: never. Default 12h"`
	Keep         time.Duration `yaml:"keep" default:"720h" doc:"A thread untouched for longer is erased; 0: never. Default 720h"`
	Files        Files         `yaml:"files" doc:"How many bytes of files are kept; what would be more is refused by a word"`
	Summary      bool          `yaml:"summary" doc:"What is trimmed is summarised by the model. Default false"`
}

// Files is how many bytes of files are kept; 0: as many as come.
type Files struct {
	Thread setting.Size `yaml:"thread" default:"256MiB" doc:"Of one thread. Default 256MiB"`
	All    setting.Size `yaml:"all" default:"8GiB" doc:"Of all threads together. Default 8GiB"`
}

// Limits are the limits of a day. A zero Amount is no limit.
type Limits struct {
	Raise           []Raise `yaml:"raise" doc:"More for some people or channels; the largest that holds counts"`
	PerPersonPerDay Amount  `yaml:"per_person_per_day" doc:"Tokens (a number) or money (\"$5\")"`
	PerThreadPerDay Amount  `yaml:"per_thread_per_day" doc:"Tokens (a number) or money (\"$5\")"`
	PerDay          Amount  `yaml:"per_day" doc:"Tokens (a number) or money (\"$5\")"`
}

// Raise is a larger limit for some.
type Raise struct {
	For             []string `yaml:"for" schema:"raised,some" want:"would raise it for nobody; write user:ID, group:ID, role:ID or channel:ID" missing:"who gets more: user:ID, group:ID, role:ID or channel:ID" doc:"user:ID, group:ID (Slack user group), role:ID (Discord role) or channel:ID"`
	PerPersonPerDay Amount   `yaml:"per_person_per_day" doc:"In the unit of the limit"`
	PerThreadPerDay Amount   `yaml:"per_thread_per_day" doc:"In the unit of the limit"`
	Until           Day      `yaml:"until" doc:"The last day (UTC) on which it holds, such as 2026-12-31; absent: always"`
}

// Approvals is who decides a call that needs an approval. In a tool it holds
// the section's rules with the tool's own keys over them.
type Approvals struct {
	Timeout          time.Duration `yaml:"timeout" schema:"positive" default:"30m" doc:"Then the call is denied. Default 30m"`
	Approvers        []string      `yaml:"approvers" schema:"approver,some" default:"[requester]" want:"must name somebody: write requester, anyone, user:ID, group:ID or role:ID" doc:"requester, anyone, user:ID, group:ID (Slack user group) or role:ID (Discord role). Default [requester]"`
	Quorum           int           `yaml:"quorum" schema:"min=1" default:"1" want:"must be at least 1" doc:"Distinct approvers needed. Default 1"`
	ExcludeRequester Exclude       `yaml:"exclude_requester" default:"false" doc:"true: the two-person rule, nobody who wrote to nod in the turn may approve; thread: nobody whose message the model is shown. Default false"`
	Approve          []string      `yaml:"approve" schema:"emoji,some" default:"[✅, 👍]" want:"must have at least one emoji" doc:"Reactions that approve, any skin tone; Slack names mean the same. Default ✅ 👍"`
	Buttons          bool          `yaml:"buttons" default:"true" doc:"Approve and Deny beside the reactions, where the platform has buttons. Default true"`
	By               []Way         `yaml:"by" schema:"some" default:"[reaction, button, word]" want:"must name at least one of reaction, button and word" doc:"Which ways approve: reaction, button, word; every way denies. A program can react in a person's name, but can't click: [button] for a call that hurts. Default [reaction, button, word]"`
	Factor           Factor        `yaml:"factor" default:"none" doc:"code: only six digits (TOTP) approve, asked for in a form behind Approve; bot factor add gives a person their secret. Default none"`
	FactorKey        string        `yaml:"factor_key" schema:"filled" default:"nod.factor" want:"must name a file, such as nod.factor" doc:"Seals the secrets of the factor; made at first use; all processes of a team need the same one. Only in the section approvals. Default nod.factor"`
	Notify           []string      `yaml:"notify" schema:"notify" default:"[mention]" doc:"mention: who may decide is mentioned; dm: and gets the card in a direct message, up to 20 people; channel:ID: the card is there too, and can be decided there. Default [mention]"`
	Deny             []string      `yaml:"deny" schema:"emoji,some" default:"[❌, 👎]" want:"must have at least one emoji" doc:"Reactions that deny. Default ❌ 👎"`
	RunWithin        time.Duration `yaml:"run_within" schema:"positive" default:"24h" doc:"An approved call that could not begin for so long (the bot was down) asks anew. Default 24h"`
	Remind           time.Duration `yaml:"remind" doc:"After so long without a decision, once more; 0: never. Default 0"`
	Escalate         Escalate      `yaml:"escalate" doc:"From then on more people may decide, and are told; {}: off. Default {}"`
	Grants           Grants        `yaml:"grants" doc:"An approver may also allow the same call again in this thread; {}: off. Default {}"`
}

// Escalate lets more people decide an approval that waits for long.
type Escalate struct {
	After     time.Duration `yaml:"after" schema:"positive" want:"must be a length of time, such as 15m: from then on the approvers below may decide too" doc:"Without a decision for so long, which is less than timeout"`
	Approvers []string      `yaml:"approvers" schema:"approver,some" want:"must name somebody: write requester, anyone, user:ID, group:ID or role:ID" doc:"These may decide too: requester, anyone, user:ID, group:ID (Slack user group) or role:ID (Discord role)"`
}

// Schedules bound what people may have asked later. Where one of the keys is written, the
// others have their defaults.
type Schedules struct {
	Thread  int           `yaml:"thread" schema:"min=1,max=1000" doc:"How many a thread may have. Default 8"`
	Person  int           `yaml:"person" schema:"min=1,max=10000" doc:"How many a person may have. Default 20"`
	Least   time.Duration `yaml:"least" schema:"positive" doc:"The shortest time between two of a schedule. Default 15m"`
	Late    time.Duration `yaml:"late" schema:"positive" doc:"One of a repeated schedule that is later than this, since the bot was down, is skipped. Default 1h"`
	Timeout time.Duration `yaml:"timeout" schema:"positive" doc:"Of an approval in a turn that began by itself, where the tool names none. Default 2h"`
}

// Rules gives the bounds as the agent takes them; the zero value where none is written.
func (s Schedules) Rules() policy.Schedules {
	if s == (Schedules{}) {
		return policy.Schedules{}
	}
	return policy.Schedules{
		Thread: cmp.Or(s.Thread, 8), Person: cmp.Or(s.Person, 20), Least: cmp.Or(s.Least, 15*time.Minute),
		Late: cmp.Or(s.Late, time.Hour), Timeout: cmp.Or(s.Timeout, 2*time.Hour),
	}
}

// Facts bound what people may write down for all threads of a channel. Where one of the
// keys is written, the other has its default.
type Facts struct {
	Most int `yaml:"most" schema:"min=1,max=200" doc:"How many a channel may have. Default 50"`
	Size int `yaml:"size" schema:"min=1,max=2000" doc:"How long one may be, in characters. Default 300"`
}

// Rules gives the bounds as the agent takes them; the zero value where none is written.
func (f Facts) Rules() policy.Facts {
	if f == (Facts{}) {
		return policy.Facts{}
	}
	return policy.Facts{Most: cmp.Or(f.Most, 50), Size: cmp.Or(f.Size, 300)}
}

// Grants bound for how long and how often a call may be allowed again.
type Grants struct {
	Most time.Duration `yaml:"most" schema:"max=168h" want:"must be a length of time of up to 168h, such as 1h" doc:"At most for so long, up to 168h. Default 1h where uses is written"`
	Uses int           `yaml:"uses" schema:"min=0,max=1000" want:"must be a number from 1 to 1000" doc:"At most so often. Default 20 where most is written"`
}

// Tools is what the agent can do, and the table of built-in tools: a line holds the key,
// whether a call just runs ([Free]) or asks first ([Asking]) where the file does not write
// risk, and the package's own keys, which make the tool. Where its key is absent it is nil,
// and off.
type Tools struct {
	Calculator *Free[calculator.Keys] `yaml:"calculator" doc:"Exact arithmetic"`
	Clock      *Free[clock.Keys]      `yaml:"clock" doc:"Date and time, anywhere"`
	Wikipedia  *Free[wikipedia.Keys]  `yaml:"wikipedia" doc:"Look things up in Wikipedia"`
	Fetch      *Free[fetch.Keys]      `yaml:"fetch" doc:"Read a web page"`
	Search     *Free[search.Keys]     `yaml:"search" doc:"Search the web"`
	Python     *Free[python.Keys]     `yaml:"python" doc:"Run Python in a sandbox without network"`
	Chart      *Free[chart.Keys]      `yaml:"chart" doc:"Draw a chart"`
	Image      *Asking[image.Keys]    `yaml:"image" doc:"Make a picture"`
	Commands   []Command              `yaml:"commands" doc:"A team's own tools: programs that run without a shell"`
	MCP        []MCP                  `yaml:"mcp" doc:"Servers that speak the Model Context Protocol"`
	Find       Find                   `yaml:"find" default:"auto" doc:"Whether the model searches for tools of servers, rather than having their definitions in each prompt: always, never, or auto: when definitions take more than a quarter of memory.budget_tokens. Default auto"`
}

// Free is the section of a tool that just runs, unless the file writes another risk.
type Free[K tools.Keys] struct {
	Keys      K `yaml:",inline"`
	ToolRules `yaml:",inline" default:"{risk: auto}"`
}

// Asking is the section of a tool that asks first, unless the file writes another risk.
type Asking[K tools.Keys] struct {
	Keys      K `yaml:",inline"`
	ToolRules `yaml:",inline"`
}

// ToolRules are the keys of every tool. Risk and Approvals are always filled in.
type ToolRules struct {
	Risk      tools.Risk `yaml:"risk" default:"ask" doc:"auto: just run; ask: wait for an approval; never: refuse"`
	Approvals Approvals  `yaml:"approvals" doc:"Over the section approvals, key by key"`
	For       []string   `yaml:"for" schema:"asker,some" default:"[everyone]" want:"would let nobody ask for it; write everyone, user:ID, group:ID or role:ID, or remove the line" doc:"Who may ask for it: everyone, user:ID, group:ID (Slack user group) or role:ID (Discord role). In a turn that holds a message of somebody else it is not offered. Default [everyone]"`
}

// Command is a team's own tool: a program that runs without a shell. Argv[0]
// (when it has a slash) and Cwd are absolute once loaded; Parameters is a JSON
// Schema of type object, and compiles.
type Command struct {
	command.Keys `yaml:",inline"`
	ToolRules    `yaml:",inline"`
}

// MCP is a server of tools, and who may ask for them.
type MCP struct {
	mcp.Server `yaml:",inline"`
	For        []string `yaml:"for" schema:"asker,some" want:"would let nobody ask for it; write everyone, user:ID, group:ID or role:ID, or remove the line" default:"[everyone]" doc:"Who may ask for its tools, as of any other tool. Default [everyone]"`
}
