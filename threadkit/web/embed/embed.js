const assets = __ASSETS__;
