#include "CDocumentationPage.h"

static const unsigned char page[] = {
#embed "page.html"
};
static const unsigned char style[] = {
#embed "page.css"
};
static const unsigned char script[] = {
#embed "page.js"
};

waymark_file waymark_documentation_page(void) { return (waymark_file){page, sizeof page}; }
waymark_file waymark_documentation_style(void) { return (waymark_file){style, sizeof style}; }
waymark_file waymark_documentation_script(void) { return (waymark_file){script, sizeof script}; }
