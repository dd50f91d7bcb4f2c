package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	discordapi "nod/adapters/discord/api"
	slackapi "nod/adapters/slack/api"
	"nod/agent"
	"nod/agent/facts"
	"nod/agent/policy"
	"nod/agent/run"
	"nod/agent/run/keeper"
	"nod/agent/schedules"
	"nod/agent/speak"
	"nod/agent/strategy"
	"nod/agent/thread"
	"nod/agent/view"
	"nod/chat"
	"nod/chat/catchup"
	"nod/cmd/bot/config"
	"nod/cmd/bot/hooks"
	"nod/cmd/bot/meter"
	"nod/llm"
	"nod/llm/demo"
	"nod/llm/openai"
	"nod/llm/tokens"
	"nod/mask"
	"nod/memory"
	"nod/memory/sqlite"
	"nod/tools/mcp"
)

// program is everything that a configuration stands for, but for the platforms,
// which need its inbox first.
type program struct {
	cfg   *config.Config
	log   *slog.Logger
	mask  *mask.Mask
	store memory.Full
	lists memory.Lister
	agent *agent.Agent
	// deciding is agent, for concurrent readers while it may be replaced.
	deciding atomic.Pointer[agent.Agent]
	model    llm.Model
	kit      *kit
	meter    *meter.Meter
	spans    *tracer      // nil: none
	calls    *http.Client // of the platforms
	alerts   *keeper.Keeper

	effects    *run.Effects
	forgetting sync.WaitGroup
	keeping    func() // stops to sign the audit log
	started    time.Time
	birth      time.Time  // of the store, at the start
	copied     time.Time  // the store is a copy of no earlier time, if it is one
	noticing   sync.Mutex // that the store came back older
	draining   atomic.Bool
	gone       sync.Map // platforms that are lost for good, and why
	losses     atomic.Int32
	calling    sync.Map // by platform: how people call the bot there, a func() string
}

// load reads the file.
func load(path string, env Env) (*config.Config, error) {
	cfg, err := config.Load(path, config.LoadOptions{Getenv: env.Getenv})
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

// usage makes an error that ends with the status for unusable arguments.
func usage(err error) error { return usageError{err} }

// assemble opens the store and makes the agent.
func assemble(ctx context.Context, cfg *config.Config, log *slog.Logger) (*program, error) {
	m := newMask(cfg)
	log = masked(log, m)
	p := &program{cfg: cfg, log: log, mask: m, meter: meter.New(prices(cfg)), effects: run.NewEffects(), calls: pooled(), keeping: func() {}}
	var err error
	if p.kit, p.agent, err = newKit(ctx, cfg, log, mcp.Briefly); err != nil {
		return nil, err
	}
	for _, t := range p.kit.off {
		log.Warn("a tool is off", "tool", t.name, "why", t.why)
	}
	for _, s := range p.kit.left {
		log.Warn("the tools of an mcp server are left out", "server", s.name, "why", s.why)
	}
	if n := hidden(p.agent.Tools); len(n) > 0 {
		log.Info("tools of mcp servers are found by search", "tools", len(n))
	}
	p.agent.Calling = p.called
	p.deciding.Store(p.agent)
	p.meter.Know(p.agent.Tools)
	p.meter.Build(version, revision())
	p.meter.Models(maps.Keys(cfg.Models))
	p.meter.Begin()
	p.meter.Servers(p.kit.mcp.Up)
	p.kit.box.Mask = m
	p.model = maskedModel{p.meter.InTurn(newModels(cfg, log), cfg.LLM.Parallel), m}
	store, err := openStore(ctx, cfg, log)
	if err != nil {
		return nil, unusable(errors.Join(err, p.kit.close()))
	}
	p.store, p.lists = p.meter.Store(store), store
	if p.agent.Key, err = storeKey(ctx, store); err != nil {
		p.close()
		return nil, unusable(err)
	}
	p.started, p.copied = time.Now(), lastKnown(ctx, store)
	birth, err := catchup.Born(ctx, store)
	if err != nil {
		p.close()
		return nil, unusable(err)
	}
	p.birth = birth.At
	p.alerts = &keeper.Keeper{Store: p.store, Rules: hooks.Rules(cfg.Alerts), Log: log, Observe: func(string, string) {}}
	if len(cfg.Alerts) > 0 {
		p.alerts.Observe = p.meter.Alerts(slices.Sorted(maps.Keys(p.alerts.Rules)))
	}
	p.spans = p.newTracer()
	p.keeping = p.keepAudit()
	return p, nil
}

// pooled is a client that keeps as many connections as there are calls at a time;
// the default one keeps two of a host, and dials anew for each of the others.
func pooled() *http.Client {
	c := &http.Client{Timeout: time.Minute}
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.MaxIdleConnsPerHost = 64
		c.Transport = t
	}
	return c
}

// called says how people call the bot on a platform.
func (p *program) called(platform string) string {
	held, _ := p.calling.Load(platform)
	if how, ok := held.(func() string); ok {
		return how()
	}
	return ""
}

func (p *program) close() {
	p.forgetting.Wait()
	if err := p.kit.close(); err != nil {
		p.log.Error("end the tools", "error", err)
	}
	p.keeping()
	if err := p.store.Close(); err != nil {
		p.log.Error("close the store", "error", err)
	}
}

// fullStore is the common interface of both stores.
type fullStore interface {
	memory.Full
	memory.Lister
}

// openStore opens the store of the file, unless it is marked by a copy.
func openStore(ctx context.Context, cfg *config.Config, log *slog.Logger) (fullStore, error) {
	store, err := openKind(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	if err := refuseMarked(ctx, store); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

func openKind(ctx context.Context, cfg *config.Config, log *slog.Logger) (fullStore, error) {
	if cfg.Store.Kind == config.Redis {
		return openRedis(ctx, cfg, log)
	}
	return sqlite.Open(ctx, cfg.Store.Path, sqlite.Options{Logger: log, Keep: cfg.Memory.Keep, Quota: quota(cfg), Wait: drainWait, Direct: direct})
}

// direct says whether a thread is a conversation with one person.
func direct(thread chat.ThreadID) bool {
	switch thread.Platform {
	case slackapi.Platform:
		return slackapi.IsDM(slackapi.ChannelOf(thread.Channel))
	case discordapi.Platform:
		return discordapi.PlaceOf(thread).Direct()
	default:
		return false
	}
}

// held lists the incidents that wait in the channel of a thread.
func (p *program) held(ctx context.Context, thread chat.ThreadID) ([]memory.Incident, error) {
	return p.alerts.Held(ctx, thread.Platform+":"+channelOf(thread), thread, p.store)
}

// channelOf is the id of a thread's channel.
func channelOf(thread chat.ThreadID) string {
	if thread.Platform == discordapi.Platform {
		return discordapi.PlaceOf(thread).Channel
	}
	return slackapi.ChannelOf(thread.Channel)
}

// begin begins a thread in a channel with a post.
func begin(ctx context.Context, platforms map[string]run.Platform, channel string, post chat.Post, look bool) (chat.ThreadID, chat.MessageRef, error) {
	name, id, _ := strings.Cut(channel, ":")
	a := platforms[name]
	if a == nil {
		return chat.ThreadID{}, chat.MessageRef{}, fmt.Errorf("%s is not connected", name)
	}
	at, ref, err := a.Copy(ctx, "channel:"+id, post, look)
	if name == discordapi.Platform {
		place := discordapi.PlaceOf(at)
		place.Thread = cmp.Or(place.Thread, ref.ID)
		return discordapi.ThreadID(place), discordapi.RefOf(place, ref.ID), err
	}
	at.Root = cmp.Or(at.Root, ref.ID)
	return at, ref, err
}

// serverWait is how long a server that is away is waited for at the start.
const serverWait = time.Minute

// quota is how many bytes of files are kept.
func quota(cfg *config.Config) memory.Quota {
	return memory.Quota{Thread: int64(cfg.Memory.Files.Thread), All: int64(cfg.Memory.Files.All)}
}

// unusable turns an error that no restart mends into a mistake of the configuration: a
// later build wrote the store.
func unusable(err error) error {
	var format memory.FormatError
	if errors.As(err, &format) {
		return usage(format)
	}
	return err
}

// byName is the models of the file. A request names one of the further ones, or is for the
// first.
type byName struct {
	llm.Model
	further map[string]llm.Model
}

// Complete implements llm.Model.
func (m byName) Complete(ctx context.Context, req llm.Request, watch func(llm.Delta)) (llm.Response, error) {
	if other, ok := m.further[req.Model]; ok {
		return other.Complete(ctx, req, watch)
	}
	return m.Model.Complete(ctx, req, watch)
}

// newModels makes the models, the first of which is the demo where the file names none.
func newModels(cfg *config.Config, log *slog.Logger) llm.Model {
	all := byName{further: map[string]llm.Model{}}
	for name, m := range cfg.Models {
		all.further[name] = newModel(cfg, "models."+name, m.Endpoint, log)
	}
	all.Model = newModel(cfg, "llm", cfg.LLM.Endpoint, log)
	return all
}

func newModel(cfg *config.Config, key string, e config.Endpoint, log *slog.Logger) llm.Model {
	if offline(cfg, key, e) {
		return demo.New()
	}
	return openai.New(openai.Options{
		BaseURL: e.BaseURL, APIKey: e.APIKey, Model: e.Model,
		Stream: e.Stream, Timeout: e.Timeout, Logger: log,
		Temperature: float(e.Temperature), TopP: float(e.TopP),
		MaxOutput: int(e.MaxOutput), Spared: len(e.Fallback) > 0,
	})
}

// offline says that the file names no address of a model, neither by a key nor by itself.
func offline(cfg *config.Config, key string, e config.Endpoint) bool {
	return cfg.Offline() && !e.APIKey.IsSet() && !cfg.Written(key+".base_url")
}

// modelName is the first model's name.
func modelName(cfg *config.Config) string {
	if cfg.Offline() {
		return "demo"
	}
	return cfg.LLM.Model
}

// further are the other models as decisions see them.
func further(cfg *config.Config) map[string]agent.Model {
	out := map[string]agent.Model{}
	for name, m := range cfg.Models {
		out[name] = agent.Model{
			Model: m.Model, Protocol: protocols[m.Protocol], Strategy: strategy.Kind(m.Strategy), MaxSteps: m.MaxSteps,
			Count: tokens.New(m.Model).Count, Blind: m.Images == config.ImagesNo, For: m.For, Fallback: m.Fallback,
		}
	}
	return out
}

func float(v *float64) *float32 {
	if v == nil {
		return nil
	}
	f := float32(*v)
	return &f
}

// protocols are the ways in which a model can speak.
var protocols = map[config.Protocol]speak.Protocol{
	config.ProtocolTools:    speak.NativeTools{},
	config.ProtocolReact:    speak.React{},
	config.ProtocolNumbered: speak.Numbered{},
}

// zones caches time zones by name: loading one reads a file, and each prompt holds the
// date.
var zones sync.Map

// zone finds a time zone by its name; nil where there is none.
func zone(name string) *time.Location {
	if known, ok := zones.Load(name); ok {
		there, _ := known.(*time.Location)
		return there
	}
	found, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	zones.Store(name, found)
	return found
}

// newAgent makes the rules of all decisions.
func newAgent(cfg *config.Config, k *kit) (*agent.Agent, error) {
	a := &agent.Agent{
		Instructions: cfg.Agent.Instructions,
		Protocol:     protocols[cfg.LLM.Protocol],
		Strategy:     strategy.Kind(cfg.LLM.Strategy),
		Retries:      cfg.Agent.Retries,
		Alerts:       hooks.Policies(cfg.Alerts),
		Prices:       prices(cfg),
		Model:        modelName(cfg),
		Models:       further(cfg),
		Fallback:     cfg.LLM.Fallback,
		Summary:      cfg.Memory.Summary,
		MaxSteps:     cfg.LLM.MaxSteps,
		Budget:       cfg.Memory.BudgetTokens,
		IdleReset:    cfg.Memory.IdleReset,
		Zones:        zone,
		Blind:        cfg.LLM.Images == config.ImagesNo,
		Taint:        cfg.Agent.Taint == config.TaintAsk,
		Count:        tokens.New(cfg.LLM.Model).Count,
	}
	if cfg.Agent.Timezone != "" {
		a.Zone = zone(cfg.Agent.Timezone)
	}
	for _, e := range cfg.Agent.Examples {
		a.Examples = append(a.Examples, speak.Example{User: e.User, Assistant: e.Assistant})
	}
	if a.Schedules = cfg.Schedules.Rules(); a.Schedules.Thread > 0 {
		a.Tools = append(a.Tools, schedules.Tool(cfg.Approvals.Rules()))
	}
	if a.Facts = cfg.Facts.Rules(); a.Facts.Most > 0 {
		a.Tools = append(a.Tools, facts.Tool(cfg.Approvals.Rules(), a.Facts))
	}
	for _, t := range k.box.List() {
		r := k.rules[t.Name]
		a.Tools = append(a.Tools, policy.Tool{
			Tool: t.Tool, Schema: k.box.Schema(t.Name), Risk: policy.Risk(r.Risk),
			ReadOnly: t.ReadOnly, Advances: t.Advances, Outside: t.Outside, Address: t.Address, Lists: t.Lists, Definition: t.Definition, Server: t.Server, Sends: t.Sends, Undeclared: t.Undeclared, Unaccepted: t.Unaccepted, Reads: t.Reads, Timeout: t.Timeout,
			Preview: t.Preview != nil, PreviewRequired: t.PreviewRequired,
			Rules: r.Approvals.Rules(), OwnTimeout: r.Approvals.Timeout != cfg.Approvals.Timeout, For: r.For,
		})
	}
	for _, s := range cfg.Shelf() {
		a.Skills = append(a.Skills, policy.Skill{Name: s.Name, Description: s.Description, Off: k.skills.Off(s.Name) != ""})
	}
	a.SkillOff, a.Tools = k.skills.Off, a.Tools.WithSkills(a.Skills)
	k.hide(cfg, a)
	a.Rooms = rooms(cfg, k, a)
	for _, room := range append([]string{""}, slices.Sorted(maps.Keys(a.Rooms))...) {
		if err := a.In(room).Fits(); err != nil {
			if at := cfg.Place("memory.budget_tokens"); at != "" {
				err = fmt.Errorf("%s: %w", at, err)
			}
			return a, fmt.Errorf("%w%w", errTight, err)
		}
	}
	return a, nil
}

// rooms are the channels in which something is different. nod's own tools are in each.
func rooms(cfg *config.Config, k *kit, a *agent.Agent) map[string]agent.Room {
	out := map[string]agent.Room{}
	for i, r := range cfg.Rooms {
		room := agent.Room{Instructions: r.Instructions, Model: r.Model, Without: map[string]bool{}}
		for name := range k.rules {
			room.Without[name] = name != "details" && name != thread.SkillTool && !r.Has(name)
		}
		if cfg.Written(fmt.Sprintf("channels[%d].approvals", i)) {
			room.Rules = map[string]memory.Rules{}
			for _, t := range a.Tools {
				rules := cfg.Approvals // of nod's own tools
				if own, ok := k.rules[t.Name]; ok {
					rules = own.Approvals
				}
				room.Rules[t.Name] = cfg.Narrow(i, rules).Rules()
			}
		}
		if cfg.Written(fmt.Sprintf("channels[%d].skills", i)) {
			room.Skills = slices.DeleteFunc(append([]policy.Skill{}, a.Skills...), func(s policy.Skill) bool { return !slices.Contains(r.Skills, s.Name) })
		}
		for _, place := range r.In {
			out[place] = room
		}
	}
	return out
}

// errTight says that the tools do not fit into a prompt. It adds no words.
var errTight = errors.New("")

// inbox is the way in for the adapters.
func (p *program) inbox() run.Inbox {
	emoji := map[string]bool{chat.EmojiStop: true, chat.EmojiRetry: true, chat.EmojiMute: true, chat.EmojiGood: true, chat.EmojiBad: true}
	for _, t := range p.agent.Tools {
		for _, e := range append(append([]string(nil), t.Rules.Approve...), t.Rules.Deny...) {
			emoji[e] = true
		}
	}
	return run.Inbox{Store: p.store, Emoji: emoji, Agent: p.agent, Limits: limits(p.cfg), Factors: factors(p.cfg, p.store)}
}

// runner drives the threads of the platforms.
func (p *program) runner(platforms map[string]run.Platform) *run.Runner {
	return &run.Runner{
		Effects: p.effects, Store: p.store, Agent: p.agent, Model: p.model, Tools: p.kit.box,
		Platforms: platforms, Log: p.log, Observe: p.observe, Limits: limits(p.cfg), Lobby: run.Inbox{Store: p.store}, Held: p.held, Older: p.noticed,
	}
}

// observe hears of every entry that this process committed.
func (p *program) observe(run *memory.Run, e memory.Entry) {
	p.meter.Observe(run, e)
	if p.spans != nil {
		p.spans.observe(run, e)
	}
	if _, ok := e.Body.(memory.Forgot); !ok {
		return
	}
	p.forgetting.Go(func() { // it may have to wait for a call that runs
		if err := p.kit.forget(run.Thread); err != nil {
			p.log.Error("forget what tools keep", "thread", run.Thread.String(), "error", err)
		}
	})
}

// prices are the prices of tokens; nil if the file has none.
func prices(cfg *config.Config) *view.Prices {
	first := pricesOf(cfg, "llm", cfg.LLM.Prices)
	others, some := map[string]*view.Prices{}, first != nil
	for name, m := range cfg.Models {
		key := "llm" // which it inherits
		if cfg.Written("models." + name + ".prices") {
			key = "models." + name
		}
		p := pricesOf(cfg, key, m.Prices)
		others[m.Model], some = p, some || p != nil
	}
	switch {
	case !some:
		return nil
	case first == nil:
		first = &view.Prices{}
	}
	first.Models = others
	return first
}

func pricesOf(cfg *config.Config, key string, p *config.Prices) *view.Prices {
	if p == nil {
		return nil
	}
	cached := p.Cached
	if !cfg.Written(key + ".prices.cached") {
		cached = p.Input
	}
	return &view.Prices{Input: p.Input, Cached: cached, Output: p.Output}
}

func limits(cfg *config.Config) run.Limits {
	of := func(a config.Amount) run.Limit { return run.Limit{Tokens: a.Tokens, Money: a.Money} }
	var raise []run.Raise
	for _, r := range cfg.Limits.Raise {
		raise = append(raise, run.Raise{For: r.For, Person: of(r.PerPersonPerDay), Thread: of(r.PerThreadPerDay), Until: r.Until.End()})
	}
	return run.Limits{
		Raise: raise, Channel: channelOf, Person: of(cfg.Limits.PerPersonPerDay), Thread: of(cfg.Limits.PerThreadPerDay), All: of(cfg.Limits.PerDay),
		Prices: prices(cfg),
	}
}
