module kidp.dev/recipes/pause

go 1.26.0
