package main

import (
	"context"
	"slices"
	"strings"

	"nod/adapters/discord"
	discordsetup "nod/adapters/discord/setup"
	"nod/cmd/bot/config"
	"nod/cmd/bot/machine"
)

// discordOptions translates the file's section, but for the inbox.
func discordOptions(cfg *config.Config) discord.Options {
	d := cfg.Discord
	return discord.Options{
		Token: d.Token.Reveal(), APIURL: d.APIURL, Shards: int(d.Shards),
		Commands: d.Commands, Archive: cfg.Approvals.Timeout, Version: version, Guilds: d.Guilds, Global: d.Limits["global"],
		Roles: roles(cfg.Approvers()), Common: common(cfg, string(d.Follow), d.AllowBots, d.Allow),
	}
}

// roles lists the roles that rules name.
func roles(rules []string) (out []string) {
	for _, rule := range rules {
		if id, ok := strings.CutPrefix(rule, "role:"); ok && !slices.Contains(out, id) {
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
	p.meter.outbox(discord.Platform, a.Depth)
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
	found, err := discordsetup.Check(ctx, discordOptions(cfg))
	return strings.Join(found, ", "), err
}

// discordManifest lists the steps at Discord for this configuration.
func discordManifest(cfg *config.Config) ([]byte, error) {
	o := discordsetup.ManifestOptions{Follow: string(config.FollowAuto), Commands: true} // of a section that is yet to be written
	if d := cfg.Discord; d != nil {
		all := discordOptions(cfg)
		o = discordsetup.ManifestOptions{Token: d.Token.Reveal(), Follow: string(d.Follow), Commands: d.Commands, Roles: len(all.Roles) > 0, Members: all.Direct && len(all.Roles) > 0}
	}
	text, err := discordsetup.Manifest(o)
	return []byte(strings.TrimRight(text, "\n")), err
}
