package main

import (
	"context"
	"slices"
	"strings"

	"nod/adapters/slack"
	"nod/agent/policy"
	"nod/cmd/bot/config"
)

// slackOptions translates the file's section, but for the inbox.
func slackOptions(cfg *config.Config) slack.Options {
	s := cfg.Slack
	return slack.Options{
		AppToken: s.AppToken.Reveal(), BotToken: s.BotToken.Reveal(), APIURL: s.APIURL,
		Sockets: s.Sockets, Follow: string(s.Follow), DM: string(s.DM), AllowBots: s.AllowBots,
		Limits:   s.Limits,
		External: string(s.External), Guests: string(s.Guests), Allow: s.Allow,
		NoButtons: !cfg.Approvals.Buttons, Channels: cfg.Channels(), Direct: cfg.Direct(),
		Groups: usesGroups(cfg), Retries: true,
	}
}

// newSlack makes the adapter.
func (p *program) newSlack() (platform, error) {
	o := slackOptions(p.cfg)
	inbox := p.inbox()
	o.Inbox, o.Emoji, o.Logger = inbox, inbox.Emoji, p.log.With("platform", slack.Platform)
	o.Observe, o.HTTP = p.meter.connection(slack.Platform), p.calls
	a, err := slack.New(o)
	if err != nil {
		return nil, err
	}
	p.meter.outbox(slack.Platform, a.Depth)
	return a, nil
}

// trySlack tries both tokens.
func trySlack(ctx context.Context, cfg *config.Config) (string, error) {
	found, err := slack.Check(ctx, slackOptions(cfg))
	return strings.Join(found, ", "), err
}

// slackManifest is the app that this configuration needs.
func slackManifest(cfg *config.Config) ([]byte, error) {
	return slack.Manifest(slack.ManifestOptions{Groups: usesGroups(cfg), Flat: cfg.Slack != nil && cfg.Slack.DM == config.DMFlat, Direct: cfg.Direct()})
}

// usesGroups says whether a group or role approves, asks or is heard.
func usesGroups(cfg *config.Config) bool {
	rules := slices.Concat(cfg.Approvers(), cfg.Askers())
	if cfg.Slack != nil {
		rules = slices.Concat(rules, cfg.Slack.Allow)
	}
	return slices.ContainsFunc(rules, policy.IsGroup)
}
