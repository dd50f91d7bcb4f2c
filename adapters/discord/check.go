package discord

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nod/chat/outbox"
)

// Flags of an application that has the Message Content Intent, in few guilds or
// in many (https://discord.com/developers/docs/resources/application#application-object-application-flags).
const messageContent = 1<<18 | 1<<19

// Check tries the token without changing anything, and says what it found: the
// bot's name, intents, permissions in each guild. The error names what is
// missing.
func Check(ctx context.Context, o Options) ([]string, error) {
	w := newREST(o.withDefaults())
	ask := func(path string, into any) error {
		return w.call(ctx, request{method: "GET", path: path, priority: outbox.Approval, answer: into})
	}
	var me user
	if err := ask("/users/@me", &me); err != nil {
		if refusedToken(err) {
			err = errors.New("discord refuses it: copy the token again (Developer Portal, Bot, Reset Token)")
		}
		return nil, fmt.Errorf("try discord.token: %w", err)
	}
	found := []string{fmt.Sprintf("bot %s (%s)", me.Username, me.ID)}
	var info starting
	if err := ask("/gateway/bot", &info); err != nil {
		return found, fmt.Errorf("ask for the gateway: %w", err)
	}
	found = append(found, fmt.Sprintf("%s recommended, %s left today", count(info.Shards, "shard"), count(info.Limit.Remaining, "new session")))
	note, err := checkIntents(o, ask)
	if note != "" {
		found = append(found, note)
	}
	notes, failed := checkGuilds(ask)
	return append(found, notes...), errors.Join(err, failed)
}

// checkIntents says whether the intents that the configuration needs are
// switched on.
func checkIntents(o Options, ask func(string, any) error) (string, error) {
	var app struct {
		Flags    int    `json:"flags"`
		Endpoint string `json:"interactions_endpoint_url"`
	}
	if err := ask("/applications/@me", &app); err != nil {
		return "", fmt.Errorf("ask for the application: %w", err)
	}
	if app.Endpoint != "" {
		return "", errors.New("the application has an Interactions Endpoint URL, so commands and buttons don't reach the bot: empty it (Developer Portal, General Information)")
	}
	switch on := app.Flags&messageContent != 0; {
	case o.Follow == followThread && !on:
		return "", errors.New("discord.follow: thread needs the Message Content Intent: switch it on (Developer Portal, Bot), or set mentions")
	case o.Follow == followThread:
		return "the Message Content Intent is switched on", nil
	}
	return "without the Message Content Intent the bot hears mentions and direct messages only: in threads each message to it needs a mention, `stop` too (/stop and 🛑 work)", nil
}

// checkGuilds says where the bot lacks a permission.
func checkGuilds(ask func(string, any) error) ([]string, error) {
	var guilds []struct {
		Name        string `json:"name"`
		Permissions string `json:"permissions"`
	}
	if err := ask("/users/@me/guilds", &guilds); err != nil {
		return nil, fmt.Errorf("list guilds: %w", err)
	}
	var found []string
	var failed error
	for _, g := range guilds {
		has, _ := strconv.ParseInt(g.Permissions, 10, 64)
		var missing []string
		for _, n := range needs {
			if has&(n.bit|1<<3) == 0 { // 1<<3: administrators may do everything
				missing = append(missing, n.name)
			}
		}
		if len(missing) == 0 {
			found = append(found, fmt.Sprintf("server %s: all permissions are there", g.Name))
			continue
		}
		failed = errors.Join(failed, fmt.Errorf("server %s: the bot lacks %s; invite it again (bot manifest discord), or change its role", g.Name, strings.Join(missing, ", ")))
	}
	if len(guilds) == 0 {
		found = append(found, "no server yet: invite the bot (bot manifest discord)")
	}
	return found, failed
}
