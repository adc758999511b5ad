#include "indexer/parse/html.h"

#include "indexer/parse/contents.h"
#include "indexer/parse/outline.h"
#include "indexer/parse/page.h"
#include "indexer/parse/sniff.h"
#include "indexer/parse/walk.h"

static int make_tree(struct dom *dom, struct tree **ret_tree, struct err *err)
{
    struct page_facts facts;
    struct outline outline;
    page_read(dom, &facts);
    outline_init(&outline);
    walk_page(dom, &outline, &facts);

    struct tree *tree = tree_new(false);
    int role = page_role(&facts);
    outline_emit(&outline, facts.title, facts.span, role == PAGE_CONTENT, tree);
    tree->page.role = role;
    tree->page.encoding = dom->source.encoding;
    tree->page.title = tree_copy_text(tree, facts.title);
    tree->page.up = tree_copy_text(tree, facts.up);
    tree->page.prev = tree_copy_text(tree, facts.prev);
    tree->page.next = tree_copy_text(tree, facts.next);
    contents_read(dom, &facts, tree);
    outline_free(&outline);
    int rc = tree_seal(tree, err);
    if (rc)
        tree_free(tree);
    else
        *ret_tree = tree;
    return rc;
}

int html_parse(struct slice bytes, struct tree **ret_tree, struct err *err)
{
    struct source source;
    struct dom dom;
    int rc = sniff_source(bytes, &source, err);
    if (!rc)
        rc = dom_parse(&source, &dom, err);
    if (rc)
        return rc;
    rc = make_tree(&dom, ret_tree, err);
    dom_free(&dom);
    return rc;
}
