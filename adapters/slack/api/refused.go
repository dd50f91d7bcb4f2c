package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nod/chat"
	"nod/front"
)

// Slack has more than a hundred words for refusing a call, and invents new ones.
// So only three kinds are listed: what ends the connection, what is wrong with
// the place, and what the same call may get over. Any other word is about how
// something was written: the next plainer form is tried, then a plain word that
// names the refusal, and then the work goes on.

var (
	// deadCodes say that the token is good for nothing any more.
	deadCodes = []string{
		"invalid_auth", "account_inactive", "not_authed", "token_revoked", "token_expired", "team_access_not_granted",
		"app_disabled",
	}
	// FatalCodes end the sign-in: trying again mends nothing.
	FatalCodes = append([]string{"not_allowed_token_type", "missing_scope", "forbidden_team", "insecure_request"}, deadCodes...)
	// GoneCodes say that nothing can be written, or changed, in that place.
	GoneCodes = []string{
		"channel_not_found", "not_in_channel", "is_archived", "is_inactive", "thread_not_found", "message_not_found",
		"cant_update_message", "cant_delete_message", "edit_window_closed", "cannot_reply_to_message", "messages_tab_disabled",
		"restricted_action", "restricted_action_read_only_channel", "restricted_action_thread_only_channel",
		"restricted_action_non_threadable_channel", "restricted_action_thread_locked", "no_permission",
		"user_not_found", "users_not_found", "cant_post_message", "ekm_access_denied", "posting_to_channel_denied",
		"app_access_restricted", "team_not_found", "thread_locked", "invalid_thread_ts", "user_not_in_channel",
	}
)

// Fatal says that connecting again does not mend an error.
func Fatal(err error) bool { return slices.Contains(FatalCodes, Code(err)) }

// Dead says that Slack refuses the token.
func Dead(err error) bool { return slices.Contains(deadCodes, Code(err)) }

// RefusedForm says whether Slack refused how something was written, and may take
// it in a plainer form.
func RefusedForm(err error) bool {
	c := Code(err)
	return c != "" && !slices.Contains(deadCodes, c) && !slices.Contains(GoneCodes, c)
}

// Gone turns a refusal that no repetition mends into chat.ErrGone, and one of
// every form into a chat.Refused besides.
func Gone(err error) error {
	c := Code(err)
	switch {
	case slices.Contains(GoneCodes, c):
		return front.Gone{Said: Refusal(c), Err: err}
	case RefusedForm(err):
		return fmt.Errorf("%w: %w: %w", chat.ErrGone, Refusal(c), err)
	}
	return err
}

// Refusal is what people are told of a refusal.
func Refusal(code string) chat.Refused { return chat.Refused{Platform: "Slack", Code: code} }

const mostPointers = 5

var pointer = regexp.MustCompile(`(?:json-pointer:|\[|"pointer":\s*")(/[A-Za-z0-9_/]+)`)

// pointers names the places in what was sent that Slack complains about. What it
// says of them may hold the text itself, which no log gets.
func (e *Error) pointers() (all []string) {
	said := strings.ReplaceAll(string(e.Metadata)+string(e.Errors), `\/`, "/")
	for _, m := range pointer.FindAllStringSubmatch(said, -1) {
		if len(all) < mostPointers && !slices.Contains(all, m[1]) {
			all = append(all, m[1])
		}
	}
	return all
}
