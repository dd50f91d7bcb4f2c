package main

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"nod/adapters/discord"
	discordsetup "nod/adapters/discord/setup"
	"nod/adapters/slack"
	slacksetup "nod/adapters/slack/setup"
	"nod/agent/policy"
	"nod/cmd/bot/config"
	"nod/cmd/bot/machine"
	"nod/front"
	"nod/memory"
)

// slackOptions translates the file's section, but for the inbox.
func slackOptions(cfg *config.Config) slack.Options {
	s := cfg.Slack
	return slack.Options{
		AppToken: s.AppToken.Reveal(), BotToken: s.BotToken.Reveal(), APIURL: s.APIURL,
		Sockets: s.Sockets, DM: string(s.DM), Limits: s.Limits, External: string(s.External), Guests: string(s.Guests),
		Groups: usesGroups(cfg), Search: s.Search, Common: common(cfg, string(s.Follow), s.AllowBots, s.Allow),
	}
}

// common are the settings that every platform has, but for what the program adds.
func common(cfg *config.Config, follow string, bots, allow []string) front.Common {
	return front.Common{
		Follow: follow, AllowBots: bots, Allow: allow, Retries: true,
		NoButtons: !cfg.Approvals.Buttons, Channels: cfg.Channels(), Direct: cfg.Direct(),
	}
}

// connects adds what the program has for every platform.
func (p *program) connects(c *front.Common, platform string) {
	inbox := p.inbox()
	c.Inbox, c.Emoji, c.Logger = inbox, inbox.Emoji, p.log.With("platform", platform)
	c.Origin, c.Alerts = p, p.alerts
	c.Observe, c.HTTP = p.meter.Connection(platform), p.calls
}

// newSlack makes the adapter.
func (p *program) newSlack() (platform, error) {
	o := slackOptions(p.cfg)
	p.connects(&o.Common, slack.Platform)
	if p.cfg.Store.Kind != config.SQLite {
		o.Shared = func(own int) int { return sharedSockets(p.store, p.store.Self(), own, time.Now()) }
	}
	a, err := slack.New(o)
	if err != nil {
		return nil, err
	}
	p.meter.Outbox(slack.Platform, a.Depth)
	p.kit.team.Use(a.Search)
	return a, nil
}

// socketNote is how many sockets a process has, as it last noted.
type socketNote struct {
	Own int       `json:"own"`
	At  time.Time `json:"at"`
}

// sharedSockets notes how many sockets a process has, and gives the sum of all processes
// that share the store. Slack replaces each socket within hours; an older note is of a
// process that was killed. Without the store the sum is not known, and so is very large.
func sharedSockets(store memory.Notes, self string, own int, now time.Time) (sum int) {
	const name, stale, tries = "sockets/slack", 12 * time.Hour, 10
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for range tries {
		old, err := store.Noted(ctx, name)
		if err != nil {
			break
		}
		notes := map[string]socketNote{}
		_ = json.Unmarshal(old, &notes) // none, if they are no notes
		notes[self] = socketNote{own, now}
		maps.DeleteFunc(notes, func(_ string, n socketNote) bool { return n.Own == 0 || now.Sub(n.At) > stale })
		value, _ := json.Marshal(notes) // never fails
		if done, err := store.Swap(ctx, name, old, value); err == nil && done {
			for _, n := range notes {
				sum += n.Own
			}
			return sum
		}
	}
	return math.MaxInt
}

// trySlack tries both tokens.
func trySlack(ctx context.Context, cfg *config.Config) (string, error) {
	found, err := slacksetup.Check(ctx, slackOptions(cfg), rulesOf(cfg, cfg.Slack.Allow))
	return strings.Join(found, ", "), err
}

// rulesOf are all rules that name somebody or a place, those of who is heard among them.
func rulesOf(cfg *config.Config, heard []string) []string {
	all := slices.Concat(cfg.Approvers(), cfg.Askers(), heard)
	for _, r := range cfg.Limits.Raise {
		all = append(all, r.For...)
	}
	var places []string // slack:ID or discord:ID; a platform leaves out ids of the other
	for _, r := range cfg.Rooms {
		places = append(places, r.In...)
	}
	for _, a := range cfg.Alerts {
		places = append(places, a.In)
		if _, id, ok := strings.Cut(a.Bot, ":"); ok {
			all = append(all, "bot:"+id)
		}
	}
	for _, place := range places {
		if _, id, ok := strings.Cut(place, ":"); ok {
			all = append(all, "channel:"+id)
		}
	}
	return all
}

// slackManifest is the app that this configuration needs.
func slackManifest(cfg *config.Config) ([]byte, error) {
	return slacksetup.Manifest(slacksetup.ManifestOptions{Groups: usesGroups(cfg), Flat: cfg.Slack != nil && cfg.Slack.DM == config.DMFlat, Search: cfg.Slack != nil && cfg.Slack.Search, Direct: cfg.Direct()})
}

// usesGroups says whether a group or role approves, asks or is heard.
func usesGroups(cfg *config.Config) bool {
	rules := slices.Concat(cfg.Approvers(), cfg.Askers())
	if cfg.Slack != nil {
		rules = slices.Concat(rules, cfg.Slack.Allow)
	}
	return slices.ContainsFunc(rules, policy.IsGroup)
}

// discordOptions translates the file's section, but for the inbox.
func discordOptions(cfg *config.Config) discord.Options {
	d := cfg.Discord
	return discord.Options{
		Token: d.Token.Reveal(), APIURL: d.APIURL, Shards: int(d.Shards),
		Commands: d.Commands, Archive: cfg.Approvals.Timeout, Version: version, Guilds: d.Guilds, Global: d.Limits["global"],
		Reads: slices.ContainsFunc(cfg.Alerts, func(a config.Alert) bool { return strings.HasPrefix(a.Bot, discord.Platform+":") }),
		Roles: ruled("role:", cfg.Approvers()), Common: common(cfg, string(d.Follow), d.AllowBots, d.Allow),
	}
}

// ruled lists the groups or roles that rules name.
func ruled(kind string, rules []string) (out []string) {
	for _, rule := range rules {
		if id, ok := strings.CutPrefix(rule, kind); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// newDiscord makes the adapter.
func (p *program) newDiscord() (platform, error) {
	o := discordOptions(p.cfg)
	for _, t := range p.agent.Tools {
		o.Tools = append(o.Tools, t.Name)
	}
	p.connects(&o.Common, discord.Platform)
	o.Process, o.Ended = machine.Process(), p.ended
	a, err := discord.New(o)
	if err != nil {
		return nil, err
	}
	p.meter.Outbox(discord.Platform, a.Depth)
	p.calling.Store(discord.Platform, a.Calling)
	return a, nil
}

// ended says whether a process that used the same store surely runs no more. SQLite's
// file is of one process at a time.
func (p *program) ended(process string) bool {
	return p.cfg.Store.Kind == config.SQLite || machine.Ended(process)
}

// tryDiscord tries the token, the intents and the permissions.
func tryDiscord(ctx context.Context, cfg *config.Config) (string, error) {
	found, err := discordsetup.Check(ctx, discordOptions(cfg), rulesOf(cfg, cfg.Discord.Allow))
	return strings.Join(found, ", "), err
}

// discordManifest lists the steps at Discord for this configuration.
func discordManifest(cfg *config.Config) ([]byte, error) {
	o := discordsetup.ManifestOptions{Follow: string(config.FollowAuto), Commands: true} // of a section that is yet to be written
	if d := cfg.Discord; d != nil {
		all := discordOptions(cfg)
		o = discordsetup.ManifestOptions{Token: d.Token.Reveal(), Follow: string(d.Follow), Commands: d.Commands, Roles: len(all.Roles) > 0, Reads: all.Reads, Members: all.Direct && len(all.Roles) > 0}
	}
	text, err := discordsetup.Manifest(o)
	return []byte(strings.TrimRight(text, "\n")), err
}
