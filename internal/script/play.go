package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"nod/agent"
	"nod/agent/facts"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/run/keeper"
	"nod/agent/schedules"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/view"
	"nod/chat"
	"nod/front"
	"nod/llm"
	"nod/llm/args"
	"nod/memory"
)

// OpenStore opens a store that a conversation is played on; a second call with
// the same folder opens what the first one left.
type OpenStore func(ctx context.Context, dir string) (memory.Full, error)

// Play plays the conversation in file and compares what people saw with its
// want section, which update rewrites. The sections, in order:
//
//	-- tools --          NAME RISK [read-only] [advances] [outside] [address=PARAM] [sends=A,B] [undeclared] [for=A,B] [lists] [unaccepted] [quorum=N] [approvers=A,B] [exclude] [grants] [fails] [channels=A,B] [direct] [quiet] [remind=DURATION] [escalate=DURATION=A,B] [run-within=DURATION] [takes=DURATION] [needs=PARAM] [reads] [file=NAME] [preview] [preview-if-any]
//	-- options --        protocol=NAME steps=N budget=N idle=DURATION models=NAME,NAME (react, and the last only for group:SRE; the first of them is the fallback) skills=NAME,!OFF room-skills=NAME,NAME (a room of instructions and those) room=TOOL (of instructions and the model spare, without TOOL) dm taint growing statuses signs wordless forms summary strategy=NAME retries=N person-limit=N thread-limit=N all-limit=$N raise=N,RULE group:ID=A,B down=N unheard=N shut=NAME
//	-- result NAME --    what a tool gives back
//	-- preview NAME --   what its next preview comes to; ARGS stands for the arguments, "fail WHY" for a failure
//	-- asks NAME --      what a call of it asks the person: a schema, and behind it the words; once more for a second question
//	-- model --          a block for one model call, as [Model] has it
//	-- person NAME [aside] [outside] [bot] [eyes] [with FILE] --   a message; the conversation goes on until nothing moves
//	-- alert [post|DURATION] --   an alert, by a POST or as the message of a bot, that much earlier
//	-- react NAME EMOJI [TOOL] [removed] [found] [guest] [button] [grant] --   on the approval of TOOL, or the newest, or on that in another place: in=PLACE/TOOL; grant: the button that also allows it for a while
//	-- reason NAME TOOL --    why NAME denied it, in the form that opened; empty: the form was closed
//	-- open NAME TOOL --      the form in which the call is changed, and what it shows
//	-- send NAME TOOL --      that form, filled in as the arguments that follow
//	-- edit NAME TOOL --      the form in which a call of the newest steps is edited to be run again
//	-- run NAME TOOL --       that form, filled in as the arguments that follow
//	-- late NAME EMOJI TOOL --  the same, put after the time ran out
//	-- group group:ID=A,B --   who is in it from now on
//	-- after DURATION --
//	-- restart --        the process ends and another one starts
//	-- down DURATION --  the same, so much later
//	-- stopped --        the process ends; what comes until the next one starts is looked at all at once
//	-- want --
//	-- terminal --       all that stands on a terminal, see [PlayOnTerminal]
func Play(t *testing.T, file string, open OpenStore, update bool) {
	t.Helper()
	playFile(t, file, "want", open, update, func(*play) {})
}

// playFile plays the conversation in file and compares what came of it with one of its
// sections.
func playFile(t *testing.T, file, section string, open OpenStore, update bool, set func(*play)) {
	t.Helper()
	arc, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(strings.TrimSpace(string(arc.Comment))) == 0 {
		t.Errorf("%s: say in a first sentence what this conversation proves", file)
	}
	want := slices.IndexFunc(arc.Files, func(f txtar.File) bool { return f.Name == section })
	if want < 0 {
		t.Fatalf("%s: no section %s", file, section)
	}
	var got string
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, dir, open)
		set(p)
		p.start()
		for _, f := range arc.Files {
			p.section(f.Name, string(f.Data))
		}
		p.stop()
		got = p.seen()
		if n := p.model.Left(); n > 0 {
			t.Errorf("%d blocks of the model were not used", n)
		}
	})
	if update {
		arc.Files[want].Data = []byte(got + "\n")
		if err := os.WriteFile(file, txtar.Format(arc), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	wanted := strings.TrimSpace(string(arc.Files[want].Data))
	if diff := cmp.Diff(strings.Split(wanted, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: what people saw (-want +got):\n%s", filepath.Base(file), diff)
	}
}

// play is one conversation under way.
type play struct {
	t     *testing.T
	dir   string
	open  OpenStore
	agent *agent.Agent
	model *Model
	board *Board
	// console is where the conversation is seen instead, if it is.
	console *console
	tools   Tools
	limits  run.Limits
	thread  chat.ThreadID
	msgs    int
	events  int
	forms   map[string]chat.Approval // by who opened it, and the tool
	again   map[string]chat.Again    // the same of calls that are run again

	newStage NewStage
	stage    Stage                 // through which people act, if there is one
	sheets   map[string]front.Form // opened on it, by who opened it, and the tool

	store  memory.Full
	inbox  run.Inbox
	keeper *keeper.Keeper // of alerts
	cancel context.CancelFunc
	done   chan struct{}
	kept   chan struct{}
}

func newPlay(t *testing.T, dir string, open OpenStore) *play {
	board := &Board{Platform: "board", Groups: map[string][]chat.UserID{}}
	p := &play{
		limits: run.Limits{Channel: func(t chat.ThreadID) string { return t.Channel }},
		t:      t, dir: dir, open: open, board: board,
		thread: chat.ThreadID{Platform: "board", Channel: "c", Root: "1"},
		tools:  Tools{Board: board, Previews: map[string][]string{}, Results: map[string]string{}, Failing: map[string]bool{}, Files: map[string]string{}, Takes: map[string]time.Duration{}, Asks: map[string][]string{}},
		agent: &agent.Agent{
			Instructions: "Be brief.", Protocol: speak.NativeTools{}, MaxSteps: 12,
			Count: func(s string) int { return len(s)/4 + 1 },
		},
	}
	p.model = &Model{Complain: t.Errorf, Meanwhile: p.meanwhile}
	return p
}

// start starts the process.
func (p *play) start() {
	ctx, cancel := context.WithCancel(p.t.Context())
	store, err := p.open(ctx, p.dir)
	if err != nil {
		p.t.Fatal(err)
	}
	store = &restless{Full: store, end: func(why string) {
		p.t.Error(why)
		cancel()
	}}
	p.store, p.cancel, p.done = store, cancel, make(chan struct{})
	emoji := map[string]bool{chat.EmojiStop: true, chat.EmojiRetry: true, chat.EmojiGood: true, chat.EmojiBad: true}
	for _, e := range append(Rules().Approve, Rules().Deny...) {
		emoji[e] = true
	}
	p.inbox = run.Inbox{Store: store, Emoji: emoji, Agent: p.agent, Limits: run.Limits{Channel: p.limits.Channel}, Factors: phones{}}
	platform := run.Platform(p.board)
	switch {
	case p.console != nil:
		platform = p.console.start(ctx, p)
	case p.newStage != nil:
		p.stage = p.newStage(p.board, p.inbox)
		platform = p.stage
	}
	r := &run.Runner{
		Store: store, Agent: p.agent, Model: p.model, Tools: p.tools,
		Platforms: map[string]run.Platform{p.thread.Platform: platform}, Limits: p.limits, Lobby: p.inbox, Held: p.held,
	}
	p.keeps(ctx)
	go func() {
		defer close(p.done)
		if err := r.Run(ctx); err != nil {
			p.t.Errorf("run: %v", err)
		}
	}()
	synctest.Wait()
}

func (p *play) stop() {
	p.cancel()
	<-p.done
	<-p.kept
	if p.console != nil {
		p.console.stop()
	}
	if err := p.store.Close(); err != nil {
		p.t.Errorf("close: %v", err)
	}
}

// seen is all that people saw.
func (p *play) seen() string {
	if p.console != nil {
		return p.console.out.String()
	}
	return strings.Join(p.board.Lines(), "\n")
}

func (p *play) section(name, data string) {
	data = strings.TrimRight(data, "\n")
	word, rest, _ := strings.Cut(name, " ")
	switch word {
	case "tools":
		for line := range strings.Lines(data) {
			p.tool(strings.Fields(line))
		}
	case "options":
		for _, o := range strings.Fields(data) {
			p.option(o)
		}
	case "result":
		p.tools.Results[rest] = data
	case "preview":
		p.tools.Previews[rest] = append(p.tools.Previews[rest], data)
	case "asks":
		p.tools.Asks[rest] = append(p.tools.Asks[rest], data)
	case "model":
		p.model.Add(data)
	case "person":
		p.says(rest, data)
	case "alert":
		p.alerts(rest, data)
	case "react":
		p.reacts(strings.Fields(rest))
	case "open":
		who, tool, _ := strings.Cut(rest, " ")
		p.opens(who, tool)
	case "reason":
		who, tool, _ := strings.Cut(rest, " ")
		p.explains(who, tool, data)
	case "send":
		who, tool, _ := strings.Cut(rest, " ")
		p.sends(who, tool, data)
	case "edit":
		who, tool, _ := strings.Cut(rest, " ")
		p.reopens(who, tool)
	case "run":
		who, tool, _ := strings.Cut(rest, " ")
		p.runs(who, tool, data)
	case "gone": // somebody is not heard any more
		p.board.Bar(chat.UserID(rest), "this account was removed")
	case "group": // who is in it now
		p.option(strings.TrimSpace(rest + " "))
	case "after":
		time.Sleep(p.duration(rest)) // in the bubble's time
	case "down":
		p.stop()
		time.Sleep(p.duration(rest))
		p.start()
	case "stopped":
		p.cancel()
		<-p.done
		<-p.kept
	case "restart":
		p.stop()
		p.start()
	case "want", "terminal":
	default:
		p.t.Fatalf("no section %q", name)
	}
	time.Sleep(settled)
	synctest.Wait()
}

// settled is as long, in the bubble's time, as the tools of a section may take.
const settled = 50 * time.Millisecond

// Rules are the approval rules of a tool that says nothing else.
func Rules() memory.Rules {
	return memory.Rules{
		Approvers: []string{"requester"}, Quorum: 1, Timeout: 30 * time.Minute,
		Approve: []string{"✅", "👍"}, Deny: []string{"❌", "👎"},
	}
}

// toolOptions are what a tool's line may say of it, NAME or NAME=VALUE.
var toolOptions = map[string]func(p *play, t *policy.Tool, value string){
	"undeclared":     func(_ *play, t *policy.Tool, _ string) { t.Undeclared = true },
	"read-only":      func(_ *play, t *policy.Tool, _ string) { t.ReadOnly = true },
	"advances":       func(_ *play, t *policy.Tool, _ string) { t.Advances = true },
	"lists":          func(_ *play, t *policy.Tool, _ string) { t.Lists = true },
	"unaccepted":     func(_ *play, t *policy.Tool, _ string) { t.Unaccepted = true },
	"reads":          func(_ *play, t *policy.Tool, _ string) { t.Reads = true },
	"outside":        func(_ *play, t *policy.Tool, _ string) { t.Outside = true },
	"preview":        func(_ *play, t *policy.Tool, _ string) { t.Preview, t.PreviewRequired = true, true },
	"preview-if-any": func(_ *play, t *policy.Tool, _ string) { t.Preview = true },
	"direct":         func(_ *play, t *policy.Tool, _ string) { t.Rules.Direct = true },
	"quiet":          func(_ *play, t *policy.Tool, _ string) { t.Rules.Quiet = true },
	"grants":         func(_ *play, t *policy.Tool, _ string) { t.Rules.Grants = memory.Grants{Most: time.Hour, Uses: 3} },
	"address":        func(_ *play, t *policy.Tool, value string) { t.Address = value },
	"does":           func(_ *play, t *policy.Tool, value string) { t.Definition = value },
	"sends":          func(_ *play, t *policy.Tool, value string) { t.Sends = strings.Split(value, ",") },
	"for":            func(_ *play, t *policy.Tool, value string) { t.For = strings.Split(value, ",") },
	"approvers":      func(_ *play, t *policy.Tool, value string) { t.Rules.Approvers = strings.Split(value, ",") },
	"channels":       func(_ *play, t *policy.Tool, value string) { t.Rules.Channels = strings.Split(value, ",") },
	"file":           func(p *play, t *policy.Tool, value string) { p.tools.Files[t.Name] = value },
	"fails":          func(p *play, t *policy.Tool, _ string) { p.tools.Failing[t.Name] = true },
	"takes":          func(p *play, t *policy.Tool, value string) { p.tools.Takes[t.Name] = p.duration(value) },
	"quorum":         func(p *play, t *policy.Tool, value string) { t.Rules.Quorum = p.number(value) },
	"remind":         func(p *play, t *policy.Tool, value string) { t.Rules.Remind = p.duration(value) },
	"run-within":     func(p *play, t *policy.Tool, value string) { t.Rules.RunWithin = p.duration(value) },
	"exclude": func(_ *play, t *policy.Tool, value string) {
		t.Rules.ExcludeRequester, t.Rules.ExcludeThread = true, value == "thread"
	},
	"of": func(p *play, t *policy.Tool, value string) { // a server whose tools are found by search
		t.Server, t.Hidden = value, true
		if !p.agent.Tools.Searched() {
			p.agent.Tools = append(p.agent.Tools, policy.Search())
		}
	},
	"by": func(_ *play, t *policy.Tool, value string) {
		for w := range strings.SplitSeq(value, ",") {
			t.Rules.By = append(t.Rules.By, chat.Way(w))
		}
	},
	"escalate": func(p *play, t *policy.Tool, value string) {
		after, who, _ := strings.Cut(value, "=")
		t.Rules.Escalate = memory.Escalation{After: p.duration(after), Approvers: strings.Split(who, ",")}
	},
	"needs": func(_ *play, t *policy.Tool, value string) {
		t.Parameters = fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":"string"}},"required":[%q],"additionalProperties":false}`, value, value)
	},
}

func (p *play) tool(f []string) {
	t := policy.Tool{Tool: llm.Tool{Name: f[0], Description: f[0] + " something.", Parameters: []byte(`{"type":"object"}`)}, Risk: policy.Risk(f[1]), Rules: Rules()}
	for _, o := range f[2:] {
		key, value, _ := strings.Cut(o, "=")
		set, ok := toolOptions[key]
		if !ok {
			p.t.Fatalf("no tool option %q", o)
		}
		set(p, &t, value)
	}
	schema, err := args.Compile(t.Parameters)
	if err != nil {
		p.t.Fatal(err)
	}
	t.Schema = schema
	// One that is there already is as another file has it, from the next start on.
	others := slices.DeleteFunc(slices.Clone(p.agent.Tools), func(o policy.Tool) bool { return o.Name == t.Name })
	p.agent.Tools = append(others, t)
}

func (p *play) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

func (p *play) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

var protocols = map[string]speak.Protocol{"tools": speak.NativeTools{}, "react": speak.React{}, "numbered": speak.Numbered{}}

// ownRules are the approval rules of nod's own tools.
func ownRules() memory.Rules {
	return memory.Rules{Approvers: []string{chat.Requester}, Quorum: 1, Timeout: 30 * time.Minute, Approve: []string{"✅"}, Deny: []string{"❌"}}
}

// options are what the section options may say, NAME or NAME=VALUE.
var options = map[string]func(p *play, value string){
	"steps":    func(p *play, value string) { p.agent.MaxSteps = p.number(value) },
	"budget":   func(p *play, value string) { p.agent.Budget = p.number(value) },
	"idle":     func(p *play, value string) { p.agent.IdleReset = p.duration(value) },
	"retries":  func(p *play, value string) { p.agent.Retries = p.number(value) },
	"strategy": func(p *play, value string) { p.agent.Strategy = strategy.Kind(value) },
	"summary":  func(p *play, _ string) { p.agent.Summary = true },
	"taint":    func(p *play, _ string) { p.agent.Taint = true },
	"models":   func(p *play, value string) { p.models(strings.Split(value, ",")) },
	"alert":    func(p *play, value string) { p.pagers(value) },
	"dm":       func(p *play, _ string) { p.board.DM = true },
	"forms":    func(p *play, _ string) { p.board.Forms = true },
	"growing":  func(p *play, _ string) { p.board.Growing = true },
	"statuses": func(p *play, _ string) { p.board.Statuses = true },
	"signs":    func(p *play, _ string) { p.board.Signs = true },
	"wordless": func(p *play, _ string) { p.board.Wordless = true },
	"shut":     func(p *play, value string) { p.board.Shut(chat.UserID(value)) },
	"folds":    func(p *play, value string) { p.board.Folds(p.duration(value)) }, // how long the last edit of steps takes
	"unheard":  func(p *play, value string) { p.board.Unheard(p.number(value)) },
	"down":     func(p *play, value string) { p.board.Fail(p.number(value)) },
	"protocol": func(p *play, value string) {
		if p.agent.Protocol = protocols[value]; p.agent.Protocol == nil {
			p.t.Fatalf("no protocol %q", value)
		}
	},
	"skills": func(p *play, value string) {
		for _, name := range strings.Split(value, ",") {
			name, off := strings.CutPrefix(name, "!")
			p.agent.Skills = append(p.agent.Skills, policy.Skill{Name: name, Description: "About " + name + ".", Off: off})
		}
		p.agent.Tools = p.agent.Tools.WithSkills(p.agent.Skills)
		p.agent.SkillOff = func(name string) string { return map[string]string{"secret": "nobody has accepted it"}[name] }
	},
	"room-skills": func(p *play, value string) {
		has := slices.DeleteFunc(slices.Clone(p.agent.Skills), func(s policy.Skill) bool { return !slices.Contains(strings.Split(value, ","), s.Name) })
		p.agent.Rooms = map[string]agent.Room{"board:c": {Instructions: "Mind the room.", Skills: has}}
	},
	"room": func(p *play, value string) {
		p.agent.Rooms = map[string]agent.Room{"board:c": {Instructions: "Mind the room.", Model: "spare", Without: map[string]bool{value: true}}}
	},
	"slow": func(p *play, value string) { // BEFORE,AFTER a card stands
		before, after, _ := strings.Cut(value, ",")
		p.board.Slow(p.duration(before), p.duration(after))
	},
	"raise": func(p *play, value string) { // the limit of a person
		most, rule, _ := strings.Cut(value, ",")
		p.limits.Raise = append(p.limits.Raise, run.Raise{For: []string{rule}, Person: run.Limit{Tokens: int64(p.number(most))}})
	},
	"schedules": func(p *play, value string) {
		person := 20
		if value != "" {
			person = p.number(value)
		}
		p.agent.Schedules = policy.Schedules{Thread: 3, Person: person, Least: 15 * time.Minute, Late: time.Hour, Timeout: 2 * time.Hour}
		p.agent.Tools = append(p.agent.Tools, schedules.Tool(ownRules()))
	},
	"facts": func(p *play, _ string) {
		p.agent.Facts = policy.Facts{Most: 3, Size: 40}
		p.agent.Tools = append(p.agent.Tools, facts.Tool(ownRules(), p.agent.Facts))
	},
}

func (p *play) option(o string) {
	key, value, _ := strings.Cut(o, "=")
	set := options[key]
	switch {
	case set != nil:
		set(p, value)
	case strings.HasSuffix(key, "-limit"):
		p.limit(key, value)
	case policy.IsGroup(key):
		p.board.Groups[key] = nil
		for _, who := range strings.Split(value, ",") {
			p.board.Groups[key] = append(p.board.Groups[key], chat.UserID(who))
		}
	default:
		p.t.Fatalf("no option %q", o)
	}
}

// models names further models, the first of which is the fallback, and the last for some.
func (p *play) models(names []string) {
	p.agent.Model, p.agent.Models, p.agent.Fallback = "first", map[string]agent.Model{}, names[:1]
	for _, name := range names {
		p.agent.Models[name] = agent.Model{Model: name + "-1", Protocol: speak.React{}, MaxSteps: p.agent.MaxSteps, Count: p.agent.Count}
	}
	last := names[len(names)-1]
	m := p.agent.Models[last]
	m.For = []string{"group:SRE"}
	p.agent.Models[last] = m
}

// limit sets a limit in tokens or, with a dollar sign, in money, of which a
// token costs one millionth. It holds from the next restart on.
func (p *play) limit(whose, value string) {
	var l run.Limit
	if money, ok := strings.CutPrefix(value, "$"); ok {
		l.Money = float64(p.number(money))
	} else {
		l.Tokens = int64(p.number(value))
	}
	p.agent.Prices = &view.Prices{Input: 1, Cached: 1, Output: 1}
	p.limits.Prices = p.agent.Prices
	switch whose {
	case "person-limit":
		p.limits.Person = l
	case "thread-limit":
		p.limits.Thread = l
	case "all-limit":
		p.limits.All = l
	default:
		p.t.Fatalf("no option %q", whose)
	}
}
