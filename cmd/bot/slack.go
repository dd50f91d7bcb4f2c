package main

import (
	"context"
	"slices"
	"strings"

	"nod/adapters/slack"
	slacksetup "nod/adapters/slack/setup"
	"nod/agent/policy"
	"nod/cmd/bot/config"
	"nod/front"
)

// slackOptions translates the file's section, but for the inbox.
func slackOptions(cfg *config.Config) slack.Options {
	s := cfg.Slack
	return slack.Options{
		AppToken: s.AppToken.Reveal(), BotToken: s.BotToken.Reveal(), APIURL: s.APIURL,
		Sockets: s.Sockets, DM: string(s.DM), Limits: s.Limits, External: string(s.External), Guests: string(s.Guests),
		Groups: usesGroups(cfg), Common: common(cfg, string(s.Follow), s.AllowBots, s.Allow),
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
	c.Origin = p
	c.Observe, c.HTTP = p.meter.connection(platform), p.calls
}

// newSlack makes the adapter.
func (p *program) newSlack() (platform, error) {
	o := slackOptions(p.cfg)
	p.connects(&o.Common, slack.Platform)
	a, err := slack.New(o)
	if err != nil {
		return nil, err
	}
	p.meter.outbox(slack.Platform, a.Depth)
	return a, nil
}

// trySlack tries both tokens.
func trySlack(ctx context.Context, cfg *config.Config) (string, error) {
	found, err := slacksetup.Check(ctx, slackOptions(cfg))
	return strings.Join(found, ", "), err
}

// slackManifest is the app that this configuration needs.
func slackManifest(cfg *config.Config) ([]byte, error) {
	return slacksetup.Manifest(slacksetup.ManifestOptions{Groups: usesGroups(cfg), Flat: cfg.Slack != nil && cfg.Slack.DM == config.DMFlat, Direct: cfg.Direct()})
}

// usesGroups says whether a group or role approves, asks or is heard.
func usesGroups(cfg *config.Config) bool {
	rules := slices.Concat(cfg.Approvers(), cfg.Askers())
	if cfg.Slack != nil {
		rules = slices.Concat(rules, cfg.Slack.Allow)
	}
	return slices.ContainsFunc(rules, policy.IsGroup)
}
