package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"nod/chat/outbox"
)

// Check tries both tokens without changing anything, and says what it found:
// the workspace, the bot's name, that sockets can be opened. The error names
// what Slack refuses, and every scope that is missing.
func Check(ctx context.Context, o Options) ([]string, error) {
	o = o.withDefaults()
	who, err := newWeb(o).whoami(ctx, outbox.Approval)
	if err != nil {
		return nil, fmt.Errorf("try slack.bot_token: %w", withHint(err, "bot"))
	}
	found := []string{fmt.Sprintf("workspace %s (%s), as @%s", firstOf(who.Team, who.TeamID), who.URL, who.User)}
	var missing []string
	for _, s := range scopes(o.Groups) {
		if !slices.Contains(who.Scopes, s) {
			missing = append(missing, s)
		}
	}
	if len(missing) > 0 {
		err = fmt.Errorf("slack.bot_token lacks the scopes %s; add them (bot manifest slack) and install the app again", strings.Join(missing, ", "))
	} else {
		found = append(found, "all scopes are there")
	}
	app := o
	app.BotToken = o.AppToken
	if failed := newWeb(app).call(ctx, request{method: "apps.connections.open", args: url.Values{}, priority: outbox.Approval}); failed != nil {
		return found, errors.Join(err, fmt.Errorf("try slack.app_token: %w", withHint(failed, "app")))
	}
	return append(found, "sockets can be opened"), err
}

// withHint adds to what Slack says what to do about it.
func withHint(err error, kind string) error {
	switch c := code(err); {
	case c == "not_allowed_token_type" && kind == "bot":
		return fmt.Errorf("%w: it must be the bot token, which begins with xoxb-", err)
	case c == "not_allowed_token_type" || c == "missing_scope":
		return fmt.Errorf("%w: it must be an app-level token with the scope connections:write, which begins with xapp-", err)
	case slices.Contains(fatalCodes, c):
		return fmt.Errorf("%w: copy the token again", err)
	}
	return err
}
