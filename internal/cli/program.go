package cli

import "github.com/headroom/headroom/internal/app"

// program has a method for each command. What the commands share is the app's.
type program struct{ App *app.App }
